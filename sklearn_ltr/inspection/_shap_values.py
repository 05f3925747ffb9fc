"""SHAP values: what each feature adds to the score of each document."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator

from sklearn_ltr._core.compile import ThreadTeam, effective_n_threads
from sklearn_ltr._core.data.features import check_has_rows
from sklearn_ltr._core.optional import require
from sklearn_ltr._core.trees.explain.shapley import explain_trees
from sklearn_ltr._core.typing import FloatArray, MatrixLike
from sklearn_ltr.inspection._models import transform_for_model
from sklearn_ltr.inspection._trees import find_trees

if TYPE_CHECKING:
    from shap import Explanation


@dataclass(frozen=True, eq=False)
class ShapValues:
    """Result of :func:`shap_values`.

    Attributes
    ----------
    values : ndarray of shape (n_documents, n_features), float64
        What each feature adds to the score of each document, in units of the scores.
    bias : float
        The expected score of an unknown document.  `bias` plus the sum of a document's
        `values` is its score.
    X : array-like or sparse matrix of shape (n_documents, n_features)
        The documents, as the trees have been given them.
    feature_names : list of str
        Names of the features; x0, x1, ... if they are not known.
    """

    values: FloatArray = field(repr=False)
    bias: float
    X: MatrixLike = field(repr=False)
    feature_names: list[str] = field(repr=False)

    @property
    def contributions(self) -> FloatArray:
        """The values with the bias as last column: (n_documents, n_features + 1).

        As LightGBM and XGBoost return them for ``pred_contrib`` and ``pred_contribs``.
        """
        return np.column_stack([self.values, np.full(len(self.values), self.bias)])

    def row(self, document: int) -> FloatArray:
        """Return the values of one document, (n_features,) float64.

        Parameters
        ----------
        document : int
            Row of X; negative ones are counted from the end.

        Returns
        -------
        values : ndarray of shape (n_features,), float64

        Raises
        ------
        TypeError, ValueError
            If there is no such row.
        """
        values: FloatArray = self.values[self._checked(document, "document")]
        return values

    def difference(self, document: int, other: int) -> FloatArray:
        """Return why one document is ranked above another: (n_features,) float64.

        Parameters
        ----------
        document, other : int
            Rows of X; negative ones are counted from the end.

        Returns
        -------
        difference : ndarray of shape (n_features,), float64
            Values of `document` minus those of `other`.  They sum to the difference of
            their scores: a positive value is a reason to rank `document` higher.

        Raises
        ------
        TypeError, ValueError
            If there is no such row.
        """
        below = self.values[self._checked(other, "other")]
        result: FloatArray = self.row(document) - below
        return result

    def to_explanation(self) -> Explanation:
        """Return the values as a `shap.Explanation`, which the plots of shap take.

        Returns
        -------
        explanation : shap.Explanation
            With the values, the bias of each document, X and the names of the features.

        Raises
        ------
        ImportError
            If shap is not installed.
        """
        require("shap", "ShapValues.to_explanation")
        from shap import Explanation

        X: Any = self.X
        return Explanation(
            self.values,
            base_values=np.full(len(self.values), self.bias),
            data=X.toarray() if issparse(X) else np.asarray(X),
            feature_names=self.feature_names,
        )

    def _checked(self, row: int, name: str) -> int:
        """Return the number of a row; raise an error if there is no such row."""
        n_rows = len(self.values)
        if not isinstance(row, Integral) or isinstance(row, bool):
            raise TypeError(f"{name} must be the number of a row of X, got {row!r}")
        if not -n_rows <= int(row) < n_rows:
            raise ValueError(f"{name} is row {row}, but X has {n_rows} rows: give one")
        return int(row)


def shap_values(
    estimator: BaseEstimator, X: MatrixLike, *, background: MatrixLike | None = None
) -> ShapValues:
    r"""Compute what each feature adds to the score of each document, exactly.

    They are Shapley values: with :math:`v(S)` the expected score of a document of which
    only the features in S are known, and :math:`d` features,

    .. math::

        \phi_j = \sum_{S \subseteq \{1, \ldots, d\} \setminus \{j\}}
            \frac{|S|! \, (d - |S| - 1)!}{d!} \, (v(S \cup \{j\}) - v(S)), \qquad
        \text{score} = v(\emptyset) + \sum_{j=1}^{d} \phi_j.

    By default :math:`v` is *path-dependent*: where a node of a tree tests a feature
    that is not in S, both children count, in proportion to their training rows.  With
    `background`, it is *interventional*: the features that are not in S are those of a
    background document, and :math:`v` is the mean over these.

    Parameters
    ----------
    estimator : estimator instance
        Fitted: a LambdaMARTRanker, MARTRegressor or MARTClassifier, a BaggingRanker of
        LambdaMARTRankers, or a Pipeline, search or CalibratedRanker of one.  It is not
        changed.  Of a MARTClassifier, the values of `decision_function` are explained.
    X : array-like or sparse matrix of shape (n_documents, n_features)
        Documents to explain, as for `predict`.
    background : array-like of shape (n_background, n_features), default=None
        Documents to compare with, such as 100 rows of the training data: values are
        what the features add to the mean score of these.  None: path-dependent values.

    Returns
    -------
    result : ShapValues
        With `values`, (n_documents, n_features), and `bias`.  They are the same bits
        for any number of threads.

    Raises
    ------
    NotFittedError
        Before `fit`.
    TypeError
        If the estimator is not made of trees (such as a RankNetRanker).
    ValueError
        If X or `background` has other columns than at `fit`, or an infinite value; if
        `background` has no rows; if a leaf has no training rows and there is no
        background; or if there is one and a path in a tree tests more than 64 features.

    See Also
    --------
    sklearn_ltr.plotting.ShapValuesDisplay : Draw the values of a document or a pair.
    sklearn_ltr.plotting.ShapHeatmapDisplay : Draw the values of a list of documents.
    sklearn_ltr.plotting.ShapBeeswarmDisplay : Draw the values of many documents.

    Notes
    -----
    The values explain the sum of the trees.  For a ranker with a base model (`init`) or
    `init_score`, the values and the bias sum to what the trees add to
    the base score; the constant that MART starts from is part of the bias.

    All training rows are counted, each once, whatever its weight.

    Features in a Pipeline are the inputs of its last step.  For a categorical feature
    the value belongs to the category as a whole.

    For M nodes and a depth of D, path-dependent values of a row take O(M D) steps
    (Linear TreeSHAP, by Gauss-Legendre quadrature).  Interventional ones are looked up,
    in tables of the :math:`2^k` ways to satisfy the conditions of the k <= 9 features
    on a path; for longer paths a row is paired with the distinct background rows.

    References
    ----------
    S. Lundberg et al., "From local explanations to global understanding with
    explainable AI for trees", Nature Machine Intelligence 2, 2020; P. Yu et al.,
    "Linear TreeSHAP", NeurIPS 2022; J. Yang, "Fast TreeSHAP", arXiv:2109.09847, 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_ltr import LambdaMARTRanker
    >>> from sklearn_ltr.datasets import make_ranking
    >>> from sklearn_ltr.inspection import shap_values
    >>> data = make_ranking(50, n_features=5, n_informative=3, random_state=0)
    >>> X, y, groups = data.data, data.target, data.groups
    >>> ranker = LambdaMARTRanker(n_estimators=10).fit(X, y, groups=groups)
    >>> result = shap_values(ranker, X[:20])
    >>> result.contributions.shape
    (20, 6)
    >>> np.allclose(result.contributions.sum(axis=1), ranker.predict(X[:20]))
    True
    """
    model, names = find_trees(
        estimator,
        "shap.PermutationExplainer explains any predict function, and "
        "sklearn.inspection.permutation_importance measures how much a model depends "
        "on each feature",
    )
    X = transform_for_model(estimator, X)
    table = read_bins(model, X, "X")
    if background is not None:
        background = transform_for_model(estimator, background)
        background = read_bins(model, background, "background")
        check_has_rows(background, "background")
    work = table.shape[0] * len(model.ensemble_.feature)
    with ThreadTeam(effective_n_threads(model.n_jobs, work)) as team:
        values, bias = explain_trees(model.ensemble_, table, team, background)
    base_score = getattr(model, "base_score_", 0.0)
    return ShapValues(values, base_score + bias, X, names)


def read_bins(model: BaseEstimator, X: MatrixLike, name: str) -> Any:
    """Return X as the trees of a model see it, with numbers of bins for categories."""
    table = model._features.read(X, name)
    return model._mapper.categories.encode(table)
