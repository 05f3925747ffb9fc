r"""The position-based model whose attractiveness is a function of features.

P(click on a document with features x at position k) = theta_k gamma(x)

The E step is that of `_em`.  For each document it returns how often it was shown, n,
and the expected number of times that it attracted, a.  The M step fits a classifier
to a row of class 1 with weight a and a row of class 0 with weight n - a for each
document.  This maximises the expected log-likelihood of the complete data.  (Wang et
al. draw a class for each row of the log: the mean is the same, with more noise.)

Sums and classifiers depend on the order of rows in their last bits.  So documents are
put in an order of their content, whatever rows of X they are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from sklearn_ltr._core.caller import DeferredWarning, collected_warnings, warn_caller
from sklearn_ltr._core.compile import ONE_THREAD
from sklearn_ltr._core.data import count_rows, read_numbers
from sklearn_ltr._core.data.features import as_table
from sklearn_ltr._core.data.rows import index_rows, n_rows
from sklearn_ltr._core.data.tables import hash_values
from sklearn_ltr._core.estimators.attributes import Attribute, Attributes
from sklearn_ltr._core.estimators.base import Estimator, refit
from sklearn_ltr._core.parameters import read_parameters
from sklearn_ltr._core.typing import FloatArray, IdsLike, IntArray, MatrixLike
from sklearn_ltr.clicks._em import Cells, at_positions, count_cells, fit_cells
from sklearn_ltr.clicks._log import ClickLog, read_click_log
from sklearn_ltr.clicks._models import EM_ATTRIBUTES, OF_PAIRS, EMParameters
from sklearn_ltr.mart import MARTClassifier

NEAREST = 1e-9  # smallest distance of a rate from 0 and 1, where EM would stay


class RegressionEM(Estimator):
    r"""A click model (PBM) that learns from features which documents attract clicks.

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
    max_iter : int of at least 1, default=50
        Most iterations of EM, each of three steps; a step fits a classifier.
    tol : float above 0, default=2e-3
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
    The estimate is only as good as the classifier.  Features must predict which
    documents attract, or the model ascribes the rest to the positions.  They must not
    predict the position: if one ranker made all lists from the same features, a
    flexible classifier explains the bias as attraction.

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
    classifier_: BaseEstimator
    scale_: float
    log_likelihoods_: FloatArray
    n_iter_: int
    _attributes: ClassVar[Attributes] = {
        **OF_PAIRS,
        "classifier_": Attribute(),
        "scale_": Attribute(),
        **EM_ATTRIBUTES,
    }

    def __init__(
        self,
        classifier: BaseEstimator | None = None,
        max_iter: int = 50,
        tol: float = 2e-3,
    ) -> None:
        self.classifier = classifier
        self.max_iter = max_iter
        self.tol = tol

    def fit(
        self,
        X: MatrixLike,
        clicks: ArrayLike,
        *,
        groups: IdsLike,
        documents: IdsLike,
        positions: ArrayLike,
        sessions: IdsLike,
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
            The query: numbers, text, dates or tuples of these.
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
            parameters = read_parameters(EMParameters, model)
            classifier = model.classifier
            if classifier is None:
                classifier = MARTClassifier(early_stopping=False, random_state=0)
            is_pipeline = isinstance(classifier, Pipeline)
            last = classifier.steps[-1][1] if is_pipeline else classifier
            is_class = isinstance(classifier, type)
            if is_class or not (
                hasattr(last, "fit") and hasattr(last, "predict_proba")
            ):
                raise TypeError(
                    "classifier must be a scikit-learn classifier with predict_proba, "
                    f"such as LogisticRegression(), got {classifier!r}"
                )
            if not has_fit_parameter(last, "sample_weight"):
                raise TypeError(
                    "classifier must take sample_weight in fit, but "
                    f"{type(last).__name__} does not: give another"
                )
            n, n_documents = count_rows(clicks, "clicks"), n_rows(X)
            if n_documents == 0:
                raise ValueError("X has no rows: give the features of each document")
            numbers = read_numbers(documents, n, "documents")
            valid = (numbers >= 0) & (numbers < n_documents)
            valid &= numbers == np.floor(np.where(valid, numbers, 0.0))
            if not valid.all():
                row = int(np.argmin(valid))
                raise ValueError(
                    f"documents must hold rows of X, 0 to {n_documents - 1}, but row "
                    f"{row} has {numbers[row]:g}"
                )
            rows = numbers.astype(np.int64)
            log = read_click_log(clicks, groups, rows, positions, sessions)
            model.groups_, model.documents_ = log.groups, log.documents
            number, log = sort_by_content(log, X)
            cells, shown_positions = count_cells(log)
            regression = AttractionRegression(classifier, X, log.documents, cells)
            theta, gamma, curve = fit_cells(
                cells, parameters.max_iter, parameters.tol, regression
            )
            for warning in regression.warnings:
                warn_caller(*warning)
            model.log_likelihoods_, model.n_iter_ = curve, len(curve) - 1
            model.propensities_ = at_positions(theta / theta[0], shown_positions)
            model.classifier_, model.scale_ = regression.fitted, float(theta[0])
            model.attractiveness_ = (theta[0] * gamma)[number]
        return self

    def predict_attractiveness(self, X: MatrixLike) -> FloatArray:
        """Predict the rate of clicks of documents at position 0 from their features.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)

        Returns
        -------
        attractiveness : ndarray of shape (n_documents,), float64
        """
        check_is_fitted(self)
        return self.scale_ * positive_probabilities(self.classifier_, X)


class AttractionRegression:
    """Fits a clone of a classifier in each M step.

    Parameters
    ----------
    classifier : classifier
    X : table of features
    rows : (n_pairs,) int64
        Row of X of each pair.
    cells : Cells
        Their units are the pairs.

    Attributes
    ----------
    fitted : classifier
        The last one.
    warnings : list of DeferredWarning
        What this package has warned of in its fit; those of earlier steps are dropped.
    """

    def __init__(
        self, classifier: BaseEstimator, X: MatrixLike, rows: IntArray, cells: Cells
    ) -> None:
        self._classifier, self._X = classifier, index_rows(X, rows)
        self._twice = index_rows(X, np.concatenate((rows, rows)))
        self._classes = np.repeat([1, 0], len(rows))
        self._shown = cells.by_unit(cells.shown)
        self.fitted: BaseEstimator | None = None
        self.warnings: list[DeferredWarning] = []

    def __call__(self, attracted: FloatArray) -> FloatArray:
        """Return gamma of each pair, from the fraction that attracted, (n_pairs,)."""
        weights = np.concatenate((attracted, 1 - attracted))
        weights *= np.tile(self._shown, 2)
        fitted, name = clone(self._classifier), "sample_weight"
        if isinstance(fitted, Pipeline) and not get_config()["enable_metadata_routing"]:
            name = f"{fitted.steps[-1][0]}__sample_weight"
        with collected_warnings() as self.warnings:
            fitted.fit(self._twice, self._classes, **{name: weights})
        self.fitted = fitted
        return np.clip(positive_probabilities(fitted, self._X), NEAREST, 1 - NEAREST)


def positive_probabilities(classifier: BaseEstimator, X: MatrixLike) -> FloatArray:
    """Return the probability of class 1 of each row."""
    return np.asarray(classifier.predict_proba(X), dtype=np.float64)[:, 1]


def sort_by_content(log: ClickLog, X: MatrixLike) -> tuple[IntArray, ClickLog]:
    """Return the new number of each pair, and the log with its pairs in that order."""
    # pairs are in the order of their queries, of hashes of their features, and, where
    # these are equal, of what was counted of them
    cells, _ = count_cells(log)
    counts = np.column_stack((cells.position, cells.shown, cells.clicked))
    pair_counts = np.split(counts, np.flatnonzero(np.diff(cells.unit)) + 1)
    features: Any = index_rows(X, log.documents)
    if issparse(features):
        table = features.tocsr().astype(np.float64)
    else:
        array = np.asarray(as_table(features))
        array = array.reshape(len(array), -1)
        if array.dtype.kind not in "biuf":  # text and objects are replaced by numbers
            texts = [list(map(repr, column)) for column in array.T.tolist()]
            codes = [np.unique(text, return_inverse=True)[1] for text in texts]
            array = np.column_stack(codes)
        table = array.astype(np.float64)
    hashes = hash_values(table, np.arange(log.n_pairs), ONE_THREAD).tolist()
    queries = log.query_of_pair.tolist()
    counted = [of_pair.tobytes() for of_pair in pair_counts]
    keys = list(zip(queries, hashes, counted, strict=True))
    order = np.array(sorted(range(log.n_pairs), key=keys.__getitem__))
    number = np.argsort(order)
    moved = replace(
        log,
        pair=number[log.pair],
        query_of_pair=log.query_of_pair[order],
        groups=log.groups[order],
        documents=log.documents[order],
    )
    return number, moved
