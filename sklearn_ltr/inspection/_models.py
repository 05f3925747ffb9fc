"""Take fitted models out of Pipelines, or present rankers as regressors."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import joblib
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import RegressorTags, Tags

from sklearn_ltr._core.data.rows import check_indices, n_rows
from sklearn_ltr._core.estimators.base import DOC_LINK_MODULE, PAGE
from sklearn_ltr._core.parts import nested, part_with
from sklearn_ltr._core.ranking.parameters import reported_metric
from sklearn_ltr._core.typing import MatrixLike, NamesLike
from sklearn_ltr.metrics import Metric


def transformers_in(estimator: BaseEstimator) -> list[BaseEstimator]:
    """Return what transforms X for the model: a Pipeline of each Pipeline's steps."""
    outer = nested(estimator)[:-1]
    return [each[:-1] for each in outer if isinstance(each, Pipeline) and len(each) > 1]


def hint(model: BaseEstimator, name: str) -> str:
    """Return which part of a model has an attribute that it lacks, for its error."""
    part = part_with(model, name)
    return f" (take its {part})" if part else ""


def find_model(estimator: BaseEstimator) -> tuple[BaseEstimator, NamesLike | None]:
    """Return the model in Pipelines, searches, calibration; and its feature names."""
    names = None  # not known
    for transformers in transformers_in(estimator):
        try:
            names = transformers.get_feature_names_out(names)
        except AttributeError:  # a transformer without that method
            names = None
    model: BaseEstimator = nested(estimator)[-1]
    return model, getattr(model, "feature_names_in_", names)


def metric_of(model: BaseEstimator, given: str | Metric | None) -> Metric:
    """Return the metric that was given, else that of the `score` of a model."""
    own = getattr(model, "metric", None) if given is None else given
    if given is None and isinstance(own, list | tuple):
        raise ValueError(
            f"the {type(model).__name__} has a metric for each label, {own!r}: give "
            "metric=, with the column of y that it is to measure"
        )
    return reported_metric(own)


def transform_for_model(estimator: BaseEstimator, X: MatrixLike) -> Any:
    """Return X as transformed by the steps before the model of :func:`find_model`."""
    check_indices(X, "X")
    for transformers in transformers_in(estimator):
        X = transformers.transform(X)
    return X


class ScoreRegressor(FrozenEstimator):
    """A fitted ranker as a regressor whose predictions are the ranker's scores.

    scikit-learn's ``partial_dependence`` and ``PartialDependenceDisplay`` refuse
    rankers: they take regressors and classifiers.  This one is a
    :class:`sklearn.frozen.FrozenEstimator` in all but its type: methods and fitted
    attributes are those of the ranker, `fit` does nothing, and `clone` returns it.
    So cross-validation would score the rows that the ranker has learned from, and so
    would scikit-learn's StackingRegressor: `fit` refuses a second fold, if both are
    fitted in one process.
    :class:`sklearn_ltr.ensemble.BlendedRanker` combines rankers by scores of queries
    that they have not seen.

    Parameters
    ----------
    estimator : estimator
        A fitted ranker, or a fitted Pipeline or search that ends in one.

    Notes
    -----
    Scores are comparable within a query only: the slope of a curve has a meaning, its
    level has none.  A feature that is the same for all documents of a query changes no
    ranking, however steep its curve.  Curves of single documents (ICE) start at heights
    that differ between queries: draw them with ``kind="both", centered=True``, so that
    all start at 0.

    Name columns of categories in ``categorical_features`` of the tool, too.  For
    features with missing values give a grid without them, ``custom_values={name:
    grid}`` (from scikit-learn 1.7 on).

    References
    ----------
    A. Goldstein, A. Kapelner, J. Bleich and E. Pitkin, "Peeking Inside the Black Box:
    Visualizing Statistical Learning With Plots of Individual Conditional Expectation",
    Journal of Computational and Graphical Statistics 24(1), 2015.

    Examples
    --------
    >>> from sklearn.inspection import partial_dependence
    >>> from sklearn_ltr import LambdaMARTRanker
    >>> from sklearn_ltr.datasets import make_ranking
    >>> from sklearn_ltr.inspection import ScoreRegressor
    >>> data = make_ranking(30, random_state=0)
    >>> ranker = LambdaMARTRanker(n_estimators=10, random_state=0)
    >>> ranker = ranker.fit(data.data, data.target, groups=data.groups)
    >>> curve = partial_dependence(
    ...     ScoreRegressor(ranker), data.data, [0], grid_resolution=3
    ... )
    >>> curve["average"].shape
    (1, 3)
    """

    _doc_link_module: ClassVar[str] = DOC_LINK_MODULE
    _doc_link_template: ClassVar[str] = PAGE
    _last_rows: tuple[int, str] | None = None  # that `fit` got: their number, hash of y

    def fit(self, X: MatrixLike, y: object, *args: object, **kwargs: object) -> Self:
        """Do nothing, as the ranker is fitted, but refuse folds.

        Parameters
        ----------
        X, y : object
            Of the rows of an earlier call, or of more rows.
        *args, **kwargs : object
            Ignored.

        Returns
        -------
        self : ScoreRegressor

        Raises
        ------
        ValueError
            For fewer rows than in the call before, or as many others, as in
            cross-validation.
        """
        now, before = (n_rows(X), joblib.hash(y)), self._last_rows
        if before is not None and now != before and now[0] <= before[0]:
            raise ValueError(
                f"fit got {before[0]} rows before, and other {now[0]} rows now, as in "
                "cross-validation. But ScoreRegressor holds a fitted ranker, which no "
                "fold fits again, so scores would be of rows that it has learned from. "
                "To combine rankers with others use "
                "sklearn_ltr.ensemble.BlendedRanker, or fit a "
                'StackingRegressor(cv="prefit") to queries that the ranker has not '
                "seen; for other data, make another ScoreRegressor of the ranker"
            )
        self._last_rows = now
        super().fit(X, y, *args, **kwargs)
        return self

    def __sklearn_tags__(self) -> Tags:
        """Return the tags of the estimator, but of a regressor."""
        tags = super().__sklearn_tags__()
        tags.estimator_type = "regressor"
        tags.regressor_tags = RegressorTags()
        return tags
