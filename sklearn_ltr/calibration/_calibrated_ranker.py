"""A ranker with maps from its scores to grades and to probabilities of grades."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from sklearn_ltr._core.data import (
    FitArguments,
    QueryGroups,
    TrainingData,
)
from sklearn_ltr._core.data.cross_validation import KnownQueries
from sklearn_ltr._core.data.labels import check_label, check_several, label_number
from sklearn_ltr._core.estimators.attributes import Attribute, Attributes
from sklearn_ltr._core.estimators.base import refit
from sklearn_ltr._core.parameters import N_JOBS, Choice, read_parameters, real
from sklearn_ltr._core.ranking.reading import LabelChoice, single_query
from sklearn_ltr._core.typing import FloatArray, IdsLike, MatrixLike
from sklearn_ltr.calibration._maps import (
    fit_isotonic,
    fit_mean_weight,
    fit_sigmoid,
    query_means,
)
from sklearn_ltr.ensemble._held_out import (
    PREFIT,
    SplitsLike,
    check_splits_word,
    fit_and_score,
)
from sklearn_ltr.ensemble._members import predict_scores, read_rows
from sklearn_ltr.ensemble._meta_estimators import (
    NO_VALIDATION,
    MetaRanker,
    check_estimator,
    takes_columns,
)
from sklearn_ltr.metrics import Metric, get_metric

MOST_GRADES = 1000  # each has a map of its own


@dataclass(frozen=True, kw_only=True)
class CalibrationParameters:
    """The parameters of CalibratedRanker, which documents them."""

    ranker: BaseEstimator | None
    method: Annotated[
        Literal["isotonic", "sigmoid", "query_isotonic"],
        Choice("isotonic", "sigmoid", "query_isotonic"),
    ]
    cv: SplitsLike
    metric: str | Metric
    label: int | str | None
    n_jobs: Annotated[int | None, N_JOBS]

    def __post_init__(self) -> None:
        """Raise an error for values that are invalid, or do not go together."""
        check_splits_word(self.cv)
        get_metric(self.metric)
        check_label(self.label)
        if self.ranker is None and isinstance(self.cv, str):
            raise ValueError(
                f"cv={PREFIT!r} needs a fitted ranker, but ranker is None: give one"
            )
        check_estimator("ranker", self.ranker)


class CalibratedRanker(MetaRanker):
    r"""A ranker that also predicts grades, and probabilities of grades.

    .. math::

        P(y \ge g_k \mid s) = f_k(s), \qquad
        E(y \mid s) = g_0 + \sum_{k \ge 1} (g_k - g_{k-1}) f_k(s)

    for the grades :math:`g_0 < g_1 < \dots` of y.  The ranker is fitted to all queries.
    The maps :math:`f_k`, which never fall, are fitted to out-of-fold scores, from
    cross-validation by query.

    `predict` and `rank` are the ranker's.  What `predict_grade` and `predict_relevance`
    return is comparable between queries.  Within a query it rises with the score, or
    stays the same: different scores may have the same grade, so rank by `predict`.

    Parameters
    ----------
    ranker : estimator or None, default=None
        A ranker, bag or blend, a Pipeline that ends in one, or a regressor, which is
        fitted without groups.  None: ``LambdaMARTRanker()``.
    method : {"isotonic", "sigmoid", "query_isotonic"}, default="isotonic"
        How the maps are fitted.  "isotonic": the rising function of least squares, by
        :class:`sklearn.isotonic.IsotonicRegression`.  "sigmoid": a logistic function,
        by :class:`sklearn.linear_model.LogisticRegression` with Platt's targets; it has
        two numbers for each grade, for few queries.  "query_isotonic": the isotonic
        regression on the score plus a multiple, learned for each grade, of the mean
        score of its query; predictions then need `groups`, and whole queries.
    cv : int, splitter, iterable of splits or "prefit", default=None
        How queries are held out: the number of folds of a GroupKFold, a scikit-learn
        splitter, or pairs of (training rows, held-out rows).  Each row is held out
        once, and no query is cut apart.  None: five folds.  "prefit": the ranker is
        already fitted, and the data given to `fit`, which it must not have seen, are
        only used for the maps.
    metric : str or Metric, default="ndcg@10"
        The metric that `score` returns, of all labels: a name or a metric object.
    label : int, str or None, default=None
        Of a y with a column for each of several labels, the one that the maps are of:
        its number, or its name in a DataFrame.  Documents that it has not judged (NaN)
        have no part in the maps.  None: y has one column.
    n_jobs : int or None, default=None
        Number of folds to run in parallel, as in
        :func:`sklearn.model_selection.cross_val_predict`.

    Attributes
    ----------
    ranker_ : estimator
        The ranker, fitted to all queries.
    grades_ : ndarray of shape (n_grades,), float64
        The different grades of y, or of its column `label`, increasing.
    mean_weights_ : ndarray of shape (n_maps,), float64
        How much the mean score of a query counts beside a score in each map; 0 unless
        `method` is "query_isotonic".
    maps_ : list of n_maps = n_grades - 1 maps
        The probability of each grade but the lowest, or of a better one, as a function
        of scores.  An isotonic map has arrays `scores` and `probabilities`, points that
        are joined by straight lines; a sigmoid has floats `slope`, `center` (subtracted
        from a score) and `intercept`.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if all were strings.

    See Also
    --------
    sklearn_ltr.plotting.GradeReliabilityDisplay : Draws predicted against given grades.
    sklearn_ltr.mart.MARTRegressor : Learns grades, not their order.

    Notes
    -----
    Lambdas of a query add up to zero, and the regression of a LambdaMARTRanker uses
    differences within queries, so a ranker cannot learn which queries have higher
    grades as a whole.  A base model that learns grades can:
    ``LambdaMARTRanker(init=MARTRegressor())``.

    With clicks for y, probabilities are those of a click where the document was shown,
    whatever corrects the ranker for positions.  `document_weight` weighs what the
    ranker learns, not the maps.  A ranker that learns from pairs alone takes no grades:
    fit it first, and the maps with ``cv="prefit"`` on other queries.

    A search or a cross-validation fits clones, and clones are not fitted.  So they
    cannot use ``cv="prefit"``, unless the ranker is wrapped in
    :class:`sklearn.frozen.FrozenEstimator`.

    References
    ----------
    B. Zadrozny and C. Elkan, "Transforming classifier scores into accurate multiclass
    probability estimates", KDD 2002.

    J. Platt, "Probabilistic outputs for support vector machines and comparisons to
    regularized likelihood methods", Advances in Large Margin Classifiers, 1999.

    Examples
    --------
    >>> from sklearn_ltr import LambdaMARTRanker
    >>> from sklearn_ltr.calibration import CalibratedRanker
    >>> from sklearn_ltr.datasets import make_ranking
    >>> data = make_ranking(n_queries=50, random_state=0)
    >>> X, y, groups = data.data, data.target, data.groups
    >>> trees = LambdaMARTRanker(n_estimators=20, random_state=0)
    >>> model = CalibratedRanker(trees).fit(X, y, groups=groups)
    >>> grades = model.predict_grade(X, groups=groups)
    >>> bool(0 <= grades.min() and grades.max() <= y.max())
    True
    >>> bool((model.predict(X) == trees.fit(X, y, groups=groups).predict(X)).all())
    True
    """

    __metadata_request__fit: ClassVar[dict[str, str]] = NO_VALIDATION

    _parts = "ranker_"
    _attributes: ClassVar[Attributes] = {
        "ranker_": Attribute(),
        "grades_": Attribute("(n_grades,)"),
        "mean_weights_": Attribute("(n_maps,)"),
        "maps_": Attribute(),
    }

    def __init__(
        self,
        ranker: BaseEstimator | None = None,
        *,
        method: Literal["isotonic", "sigmoid", "query_isotonic"] = "isotonic",
        cv: SplitsLike = None,
        metric: str | Metric = "ndcg@10",
        label: int | str | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.ranker = ranker
        self.method = method
        self.cv = cv
        self.metric = metric
        self.label = label
        self.n_jobs = n_jobs

    @takes_columns(pairs=True)
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        *,
        groups: IdsLike | None = None,
        sample_weight: ArrayLike | None = None,
        users: IdsLike | None = None,
        order: IdsLike | None = None,
        **columns: ArrayLike | None,
    ) -> Self:
        """Score held-out queries, fit the maps, and fit the ranker to all queries.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_documents, n_features)
            Input of the ranker.
        y : array-like of shape (n_documents,) or (n_documents, n_labels)
            Relevance grades, finite and >= 0, at most 1,000 different ones; of several
            labels, NaN where a label has not judged a document.
        {groups}
        sample_weight : array-like of shape (n_documents,), default=None
            Weight of a query, constant within it: of its documents, where the maps are
            fitted.  0: as if it were not there.  The ranker is fitted with it if its
            `fit` has weights; the steps of a Pipeline must say whether they request it
            (scikit-learn's metadata routing).
        {folds}
        columns : array-likes, default=None
            Passed to a ranker that learns from them, see
            :meth:`LambdaMARTRanker.fit <sklearn_ltr.LambdaMARTRanker.fit>`.  The maps
            are of grades or clicks as they are.  `pairs` are rows of X; the ranker is
            given those within the rows that it learns from.

        Returns
        -------
        self : CalibratedRanker

        Raises
        ------
        ValueError, TypeError
            For an invalid parameter, more folds than queries, invalid grades or
            weights, more than 1,000 different grades, columns or pairs that the ranker
            is not fitted with, several labels for a ranker that learns from one, or
            without `label`, or whatever the ranker refuses.  The estimator is then
            unchanged.
        NotFittedError
            If the ranker is not fitted and ``cv="prefit"``.
        UnsetMetadataPassedError
            For a `sample_weight` if a step of a Pipeline does not say whether it
            requests it.
        """
        # read
        p = read_parameters(CalibrationParameters, self)
        columns |= {"sample_weight": sample_weight}
        given = FitArguments.of(X, y, groups, users=users, order=order, **columns)
        rows = read_rows(
            given,
            LabelChoice(True, None),
            "y is None, and the maps are of grades: give y beside the pairs, and a "
            "ranker with a metric; or fit a ranker to pairs alone first, and the "
            f"maps with cv={PREFIT!r}",
        )
        y_graded, _ = graded_rows(p.label, rows.data)
        grades: FloatArray = np.unique(y_graded)
        if len(grades) > MOST_GRADES:
            raise ValueError(
                f"y has {len(grades):,} different grades, and each would have its own "
                f"map: merge them into at most {MOST_GRADES:,}, or train a "
                "MARTRegressor, which predicts grades without maps"
            )

        # fit and score
        (ranker,), held_out = fit_and_score(
            self._rankers(), ["ranker"], rows, p.cv, p.n_jobs
        )

        # fit the maps, and keep
        fit_map = fit_sigmoid if p.method == "sigmoid" else fit_isotonic
        y_held_out, graded = graded_rows(p.label, held_out.data)
        if len(unseen := np.setdiff1d(grades, y_held_out)) > 0:
            raise ValueError(
                f"cv holds out no document of grade {unseen[0]:g}, so its map cannot "
                "be fitted: give folds of more queries, such as cv=3, or merge grades"
            )
        (scores_of_all,), weight = held_out.scores, held_out.sample_weight[graded]
        means = query_means(scores_of_all, held_out.query)[graded]
        graded_scores = scores_of_all[graded]
        mean_weights, maps = np.zeros(len(grades) - 1), []
        for k, grade in enumerate(grades[1:]):
            reached, index = y_held_out >= grade, graded_scores
            if p.method == "query_isotonic":
                mean_weights[k] = fit_mean_weight(index, means, reached, weight)
                index = index + mean_weights[k] * means
            maps.append(fit_map(index, reached, weight))
        with refit(self) as model:
            model.ranker_ = ranker
            model.grades_ = grades
            model.mean_weights_ = mean_weights
            model.maps_ = maps
            model._trained_queries = KnownQueries.of(rows.data)
        return self

    def predict(self, X: MatrixLike) -> FloatArray:
        """Score documents by the ranker; scores are comparable within a query.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_documents, n_features)
            Input of the ranker.

        Returns
        -------
        scores : ndarray of shape (n_documents,), float64
            What ``ranker_`` predicts; higher is ranked first.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError, TypeError
            For what the ranker refuses, or scores that are not finite.
        """
        return predict_scores([self._fitted().ranker_], X, "ranker_")[0]

    def predict_grade(
        self, X: MatrixLike, *, groups: IdsLike | None = None
    ) -> FloatArray:
        """Predict the expected grade of documents; comparable between queries.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_documents, n_features)
            Input of the ranker.
        groups : array-like of shape (n_documents,), default=None
            The query of each document.  Used by ``method="query_isotonic"``; by others
            a grade depends on the score alone.  Without it up to 200 rows are one
            query; more are an error where it is used.

        Returns
        -------
        grades : ndarray of shape (n_documents,), float64
            From the lowest to the highest grade of y in `fit`.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError, TypeError
            As by `predict`, and for invalid groups.
        """
        model = self._fitted()
        probabilities = model._probabilities(X, groups)
        total = np.full(probabilities.shape[1], model.grades_[0])
        # added up one by one, so that rounding is the same for all rows, and rises
        for step, reached in zip(np.diff(model.grades_), probabilities, strict=True):
            total += step * reached
        return np.asarray(np.minimum(total, model.grades_[-1]))

    def predict_relevance(
        self, X: MatrixLike, *, groups: IdsLike | None = None, grade: float = 1
    ) -> FloatArray:
        """Predict the probability of a grade or better; comparable between queries.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_documents, n_features)
            Input of the ranker.
        groups : array-like of shape (n_documents,), default=None
            As in `predict_grade`.
        grade : float, default=1
            The lowest grade that counts as relevant, >= 0.

        Returns
        -------
        probabilities : ndarray of shape (n_documents,), float64
            From 0 to 1.  1 for a grade that no document of `fit` was below.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError, TypeError
            As by `predict`, for invalid groups, or a grade that is not a number >= 0,
            or above the highest of `fit`, whose probability is not known.
        """
        model = self._fitted()
        lowest = real(0).read_as("grade", grade)
        k = int(np.searchsorted(model.grades_, lowest))
        if k == len(model.grades_):
            raise ValueError(
                f"grade={lowest:g} is above the highest grade of fit, "
                f"{model.grades_[-1]:g}: give one that documents have reached"
            )
        probabilities = model._probabilities(X, groups)
        if k == 0:
            return np.ones(probabilities.shape[1])
        return np.asarray(probabilities[k - 1])

    def _probabilities(self, X: MatrixLike, groups: IdsLike | None) -> FloatArray:
        """Return P(y >= g) of grades but the lowest, (n_grades - 1, n_documents)."""
        scores = self.predict(X)
        reached = np.empty((len(self.maps_), len(scores)))
        if len(scores) == 0:
            return reached
        means = np.zeros(len(scores))
        if groups is not None:
            queries = QueryGroups.from_groups(groups, len(scores))
            means = query_means(scores, queries.query_of_row)
        elif self.mean_weights_.any():
            means = query_means(scores, single_query(len(scores)).query_of_row)
        maps = zip(self.mean_weights_, self.maps_, strict=True)
        for row, (mean_weight, score_map) in zip(reached, maps, strict=True):
            row[:] = score_map(scores + mean_weight * means)
        # sigmoids of different slopes cross: a better grade is not more probable
        return np.minimum.accumulate(reached, axis=0)


def graded_rows(
    label: int | str | None, data: TrainingData
) -> tuple[FloatArray, NDArray[np.intp]]:
    """Return the grades that the maps are of, and the rows that have one."""
    names = data.grades.names
    check_several(label, len(names))
    if label is None and len(names) > 1:
        raise ValueError(
            f"y has {len(names)} columns, one for each label, and the maps are of one: "
            f"name it, as in CalibratedRanker(label={names[0]!r})"
        )
    number = 0 if label is None else label_number(label, names, "label")
    graded = data.of_label(number)
    return graded.data.y, graded.rows
