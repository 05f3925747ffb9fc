r"""The position-based model whose attractiveness is a function of features.

P(click on a document with features x at position k) = theta_k gamma(x)

The E step is that of `_em`; the M step of gamma is in `_attraction_regression`.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from sklearn_ltr._data import count_rows, read_numbers
from sklearn_ltr._data.rows import n_rows
from sklearn_ltr._estimators.base import BaseModel, refit
from sklearn_ltr._parameters import at_least, check_ranges, positive
from sklearn_ltr.clicks._attraction_regression import (
    AttractionRegression,
    probabilities,
    read_classifier,
)
from sklearn_ltr.clicks._em import (
    Table,
    maximise,
    start_rates,
    table_log_likelihood,
    table_step,
)
from sklearn_ltr.clicks._log import read_click_log
from sklearn_ltr.clicks._position_based import at_positions, count_cells

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class RegressionEM(BaseModel):
    r"""The position-based model with attractiveness learned from features.

    .. math:: P(\text{click on } d \text{ at position } k) = \theta_k \gamma(x_{qd})

    with :math:`\theta_k` the probability that position k is examined and
    :math:`\gamma(x)` the probability that a document with the features x attracts a
    click, by a classifier.  Similar documents are compared with each other, so
    documents may be shown once only, and even at one position only.

    Parameters
    ----------
    classifier : scikit-learn classifier or None, default=None
        With `predict_proba`, and `sample_weight` in `fit`; clones of it are fitted.
        A Pipeline must end in one.  None:
        ``MARTClassifier(early_stopping=False, random_state=0)``.
    max_iter : int >= 1, default=50
        Most iterations of EM, each of three steps; a step fits a classifier.
    tol : float > 0, default=2e-3
        EM ends when no :math:`\theta_k` changes by more in an iteration.

    Attributes
    ----------
    propensities_ : ndarray of shape (n_positions,), float64
        Propensity of each position relative to position 0; NaN where nothing was shown.
    attractiveness_ : ndarray of shape (n_pairs,), float64
        Rate of clicks of each (query, document) pair at position 0, by its features.
    groups_, documents_ : ndarrays of shape (n_pairs,)
        Query of each pair, and its row of X; sorted.
    classifier_ : classifier
        That of the last step.  Its probabilities are :math:`\gamma`, on a scale of
        their own.
    scale_ : float
        :math:`\theta_0`, which makes :math:`\gamma` the rate of clicks at position 0.
    log_likelihoods_ : ndarray of shape (n_iter + 1,), float64
        Log-likelihood of the log before EM and after each iteration.  A classifier that
        maximises the likelihood never lets it fall; one that regularises may.
    n_iter_ : int
        Number of iterations.

    See Also
    --------
    PositionBasedModel : Has a parameter for each document, and needs no features.
    InterventionHarvesting : Compares each document with itself only.

    Notes
    -----
    The estimate is as good as the classifier.  Features must tell attractive documents
    from others, or what they leave unexplained is put down to the positions.  They must
    not tell the position: where the ranker in use is a function of the same features,
    and has always been the same, a flexible classifier can explain the bias away.

    There are no standard errors; fit the model to resampled queries instead.

    References
    ----------
    X. Wang, N. Golbandi, M. Bendersky, D. Metzler and M. Najork, "Position Bias
    Estimation for Unbiased Learning to Rank in Personal Search", WSDM 2018.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn_ltr.clicks import RegressionEM
    >>> model = RegressionEM(LogisticRegression()).fit(
    ...     [[1.0], [0.0]],
    ...     [1, 0, 1, 1] * 2 + [0, 0, 1, 0] * 2,
    ...     groups=["q"] * 16,
    ...     documents=[0, 1, 1, 0] * 4,
    ...     positions=[0, 1] * 8,
    ...     sessions=[i // 2 for i in range(16)],
    ... )
    >>> model.propensities_.round(1)
    array([1. , 0.3])
    """

    propensities_: FloatArray
    attractiveness_: FloatArray
    groups_: NDArray[Any]
    documents_: NDArray[Any]
    classifier_: Any
    scale_: float
    log_likelihoods_: FloatArray
    n_iter_: int
    _fitted_state: ClassVar[tuple[str, ...]] = (
        "propensities_", "attractiveness_", "groups_", "documents_", "classifier_",
        "scale_", "log_likelihoods_", "n_iter_",
    )  # fmt: skip

    def __init__(
        self, classifier: Any = None, max_iter: int = 50, tol: float = 2e-3
    ) -> None:
        self.classifier = classifier
        self.max_iter = max_iter
        self.tol = tol

    def fit(
        self,
        X: Any,
        clicks: Any,
        *,
        groups: Any,
        documents: Any,
        positions: Any,
        sessions: Any,
    ) -> Self:
        """Fit the model to features and a log.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Features, a row per document (not per row of the log); whatever the
            classifier takes.
        clicks : array-like of shape (n_rows,)
            1 if the document was clicked in this session, else 0.
        groups : array-like of shape (n_rows,)
            The query: any sortable values.
        documents : array-like of shape (n_rows,)
            The document that was shown: its row of X, from 0.
        positions : array-like of shape (n_rows,)
            Position at which the document was shown; integers, 0 is first.
        sessions : array-like of shape (n_rows,)
            The session: one list, shown once for one query.

        Returns
        -------
        self : RegressionEM

        Raises
        ------
        ValueError, TypeError
            For a parameter out of its range, a classifier without probabilities or
            weights, columns that are no click log, documents that are no rows of X, and
            a log without a click at position 0.  The estimator is left as it was.
        """
        with refit(self) as model:
            check_ranges(model, [at_least("max_iter", 1), positive("tol")])
            classifier = read_classifier(model.classifier)
            rows = read_rows(documents, count_rows(clicks, "clicks"), n_rows(X))
            log = read_click_log(clicks, groups, rows, positions, sessions)
            table, shown_positions = count_cells(log)
            regression = AttractionRegression(classifier, X, log.documents, table)
            theta, gamma = model._run_em(table, regression)
            model.propensities_ = at_positions(theta / theta[0], shown_positions)
            model.classifier_, model.scale_ = regression.fitted, float(theta[0])
            model.attractiveness_ = theta[0] * gamma
            model.groups_, model.documents_ = log.groups, log.documents
        return self

    def predict_attractiveness(self, X: Any) -> FloatArray:
        """Rate of clicks at position 0 of documents, by their features.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)

        Returns
        -------
        attractiveness : ndarray of shape (n_documents,), float64
        """
        check_is_fitted(self)
        return self.scale_ * probabilities(self.classifier_, X)

    def _run_em(
        self, table: Table, regression: AttractionRegression
    ) -> tuple[FloatArray, FloatArray]:
        """Set what is known of the iterations, and return theta and gamma."""
        n_positions = int(table.position.max()) + 1

        def step(rates: FloatArray) -> FloatArray:
            theta, attracted = table_step(
                table, rates[:n_positions], rates[n_positions:]
            )
            return np.concatenate((theta, regression(attracted)))

        def log_likelihood(rates: FloatArray) -> float:
            return table_log_likelihood(table, rates[:n_positions], rates[n_positions:])

        rates, curve = maximise(
            step,
            log_likelihood,
            step(start_rates(table)),  # from here on, gamma is a function of X
            self.max_iter,
            self.tol,
            slice(n_positions),
        )
        self.log_likelihoods_, self.n_iter_ = curve, len(curve) - 1
        rates = step(rates)  # so that the last classifier is that of the result
        return rates[:n_positions], rates[n_positions:]


def read_rows(documents: Any, n: int, n_documents: int) -> IntArray:
    """Return rows of X, (n,) int64; a ValueError unless all are."""
    if n_documents == 0:
        raise ValueError("X has no rows: give the features of each document")
    rows = read_numbers(documents, n, "documents")
    valid = (rows >= 0) & (rows < n_documents)
    valid &= rows == np.floor(np.where(valid, rows, 0.0))
    if not valid.all():
        row = int(np.argmin(valid))
        raise ValueError(
            f"documents must hold rows of X, 0 to {n_documents - 1}, but row {row} has "
            f"{rows[row]:g}"
        )
    return rows.astype(np.int64)
