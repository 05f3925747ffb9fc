"""The base class of rankers, and the parameters that they share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags

from sklearn_ltr._data import GivenColumns, RowColumns, TrainingData, fit_requests
from sklearn_ltr._data.cross_validation import KnownQueries, warn_if_cut
from sklearn_ltr._data.features import read_feature_table
from sklearn_ltr._data.labels import label_number
from sklearn_ltr._data.rows import n_rows, routing_advice
from sklearn_ltr._data.tables import Matrix, Table, table_of
from sklearn_ltr._data.training_data import without_zero_weights
from sklearn_ltr._estimators.attributes import Attribute, Attributes
from sklearn_ltr._estimators.base import (
    CallbackSupportMixin,
    Estimator,
    FitParameters,
)
from sklearn_ltr._lambdas.position_bias import BiasChoice, BiasOptions
from sklearn_ltr._lambdas.user_objective import ObjectiveFunction
from sklearn_ltr._parameters import POSITIVE, integer, real, shown
from sklearn_ltr._rankers.reading import (
    LabelChoice,
    read_queries,
    read_targets,
    read_training_data,
    single_query,
)
from sklearn_ltr._typing import FloatArray, IdsLike, MatrixLike
from sklearn_ltr.metrics import NDCG, Metric, get_metric, rank_scores
from sklearn_ltr.metrics._metric import BoundMetric

LONGEST_LIST = 2**31  # rows are numbered by int32
SMALLEST_PROPENSITY = 1e-6  # whose inverses, and products of these, stay moderate

MetricChoice = str | Metric | None | Sequence[str | Metric]
ScoringChoice = (
    str | Metric | Sequence[str | Metric] | Mapping[int | str, str | Metric] | None
)
PositionBiasValue = Literal["additive", "pairwise"] | Mapping[str, object] | None


def is_among(metric: Metric, others: Iterable[Metric]) -> bool:
    """Return whether a list has this metric; ``in`` fails for gains that are arrays."""
    return any(
        metric is other or (type(metric) is type(other) and repr(metric) == repr(other))
        for other in others
    )


def name_metrics(metrics: Iterable[Metric]) -> dict[str, Metric]:
    """Return the metrics by name, or by repr where names are equal; all must differ."""
    named: dict[str, Metric] = {}
    for metric in metrics:
        if is_among(metric, named.values()):
            raise ValueError(f"scoring holds {metric!r} twice: name each metric once")
        named[repr(metric) if metric.name in named else metric.name] = metric
    return named


def metric_of_label(metric: Any, number: int) -> str | Metric | None:
    """Return the metric of one of several labels: its own, or that of all labels."""
    own: str | Metric | None
    own = metric[number] if isinstance(metric, list | tuple) else metric
    return own


def reported_metric(metric: str | Metric | None) -> Metric:
    """Return the metric that a ranker reports; None stands for NDCG@10."""
    return NDCG(10) if metric is None else get_metric(metric)


@dataclass(frozen=True, kw_only=True)
class RankerParameters(FitParameters):
    """The parameters of every ranker that learns from lambdas, and their meaning."""

    metric: Any  # MetricChoice; None: pairs alone
    objective: Literal["lambdarank"] | ObjectiveFunction
    truncation_level: Annotated[int | None, integer(1, optional=True)]
    sigma: Annotated[float, POSITIVE]
    scoring: ScoringChoice
    position_bias: Annotated[BiasOptions | None, BiasChoice("additive", "pairwise")]
    min_propensity: Annotated[float, real(SMALLEST_PROPENSITY, 1)]
    takes_labels: ClassVar[bool] = False  # metric and scoring may be of several labels

    def __post_init__(self) -> None:
        """Raise an error for values that do not go together."""
        is_name = isinstance(self.objective, str) and self.objective == "lambdarank"
        if not (is_name or callable(self.objective)):
            raise ValueError(
                "objective must be 'lambdarank', which learns from lambdas of the "
                "metric, or a function of scores, grades and offsets; got "
                f"{shown(self.objective)}"
            )
        if callable(self.objective) and self.metric is None:
            raise ValueError(
                "metric=None learns from pairs, but objective is a function: give the "
                "metric to report"
            )
        bias = self.position_bias
        if bias is not None and bias.method == "pairwise" and callable(self.objective):
            raise ValueError(
                "position_bias='pairwise' weighs pairs, but objective is a function, "
                "which does not get pairs: give position_bias='additive'"
            )
        if self.takes_labels and isinstance(self.metric, list | tuple):
            for metric in self.metric:
                get_metric(metric)
            if self.scoring is None:
                return
        if self.takes_labels and isinstance(self.scoring, Mapping):
            if len(self.scoring) == 0:
                raise ValueError("scoring is an empty dict: name a label, or give None")
            for metric in self.scoring.values():
                get_metric(metric)
            return
        self.measured_metrics()  # raises for an unknown metric or scoring

    def of_label(self, number: int) -> Self:
        """Return the parameters of one of several labels."""
        if not isinstance(self.metric, list | tuple):
            return self
        return replace(self, metric=self.metric[number], scoring=None)

    def measured_metrics(self) -> dict[str, Metric]:
        """Return the metrics of validation data by name; the first is followed."""
        scoring: Any = self.scoring
        if scoring is None:
            return name_metrics([reported_metric(self.metric)])
        if not isinstance(scoring, list | tuple):
            return name_metrics([get_metric(scoring)])
        if len(scoring) == 0:
            raise ValueError("scoring is an empty list: name a metric, or give None")
        return name_metrics([get_metric(metric) for metric in scoring])

    @property
    def measures_train(self) -> bool:
        """Whether the training data are measured by all metrics, too."""
        return isinstance(self.scoring, list | tuple)

    def trained_metric(self) -> Metric | None:
        """Return the metric of the swap deltas, at the truncation level or deeper."""
        if self.metric is None:
            return None
        level = self.truncation_level
        if level is not None:  # cutoffs have 64 bits
            level = min(level, LONGEST_LIST)
        return get_metric(self.metric).at_deeper_cutoff(level)

    @property
    def train_curve(self) -> str:
        """Name of the attribute that holds the training's costs or metric values."""
        return "loss_curve_" if self.metric is None else "train_score_"

    def check_clicks(self, columns: GivenColumns) -> None:
        """Raise a ValueError unless `fit` was given the columns that are needed."""
        if self.position_bias is not None and columns.positions is None:
            raise ValueError(
                f"positions is None, but position_bias={self.position_bias.method!r} "
                "learns a bias of each position: give the position of each row, from 0"
                + routing_advice("positions")
            )
        if columns.document_weight is not None and callable(self.objective):
            raise ValueError(
                "document_weight weighs pairs, but objective is a function, which does "
                "not get pairs: leave document_weight out, or apply it in the function"
            )
        if columns.propensities is None:
            return
        if self.position_bias is not None:
            raise ValueError(
                "propensities were given, but position_bias="
                f"{self.position_bias.method!r} learns the bias of positions itself: "
                "give propensities with position_bias=None"
            )
        if callable(self.objective):
            raise ValueError(
                "propensities weigh pairs, but objective is a function, which does not "
                "get pairs: leave propensities out, or apply them in the function"
            )

    def check_no_clicks(self, columns: GivenColumns) -> None:
        """Raise a ValueError if judged pairs were given what belongs to grades."""
        if callable(self.objective):
            raise ValueError(
                "objective is a function, which does not get pairs: give "
                "objective='lambdarank', or leave pairs out"
            )
        if columns.document_weight is not None:
            raise ValueError(
                "document_weight says how certain grades are, but pairs are judged "
                "without grades: give one of the two"
            )
        if self.position_bias is None and columns.propensities is None:
            return
        what = "propensities" if self.position_bias is None else "position_bias"
        raise ValueError(
            f"{what} corrects clicks, but pairs are judgements, not clicks: give one "
            "of the two"
        )


class BoundLabel(NamedTuple):
    """A metric of the documents that a label has judged."""

    rows: NDArray[np.intp] | slice  # these documents
    bound: BoundMetric
    sample_weight: FloatArray  # of their queries
    share: float  # of the label, among those that are measured


def bind_labels(
    metric: MetricChoice, data: TrainingData, label: int | str | None = None
) -> list[BoundLabel]:
    """Bind a metric to y, to each of its labels of a weight above 0, or to one."""
    grades = data.label_grades
    if grades is None and label is not None:
        raise ValueError(
            f"label={label!r} names one of several labels, but y has one column: give "
            "all of them, or no label"
        )
    if grades is None:
        if isinstance(metric, list | tuple):
            raise ValueError(
                f"metric is a list of {len(metric)}, one for each label, but y has one "
                "column: give all of them, with label= for one"
            )
        reported = reported_metric(metric_of_label(metric, 0))
        bound = reported.bind(data.y, data.offsets, data.labels)
        return [BoundLabel(slice(None), bound, data.sample_weight, 1.0)]
    check_metrics_of_labels(metric, grades.n_labels)
    shares = {n: grades.weights[n] for n in np.flatnonzero(grades.weights).tolist()}
    if label is not None:
        shares = {label_number(label, grades.names, "label"): 1.0}
    found = []
    for number, share in shares.items():
        own, rows = data.of_label(number)
        if own.n_rows == 0:
            raise ValueError(
                f"no document that is measured is judged by label "
                f"{grades.names[number]!r}: give more queries, or leave the label out"
            )
        bound = reported_metric(metric_of_label(metric, number)).bind(
            own.y, own.offsets, own.labels
        )
        found.append(BoundLabel(rows, bound, own.sample_weight, share))
    return found


def mean_of_bound(labels: Sequence[BoundLabel], scores: FloatArray) -> float:
    """Return the weighted mean over labels of the metric of scores, (n_rows,)."""
    values = [one.bound.mean(scores[one.rows], one.sample_weight) for one in labels]
    return weighted_mean(values, np.array([one.share for one in labels]))


def weighted_mean(values: Sequence[float], weights: FloatArray) -> float:
    """Return the mean of values of labels by weights that sum to 1."""
    return fsum(w * value for w, value in zip(weights.tolist(), values, strict=True))


def check_metrics_of_labels(metric: MetricChoice, n_labels: int) -> None:
    """Raise a ValueError unless there is a metric for each label, or one for all."""
    if isinstance(metric, list | tuple) and len(metric) != n_labels:
        raise ValueError(
            f"metric is a list of {len(metric)}, but y has {n_labels} labels: give "
            "one for each, or one for all"
        )


class BaseRanker(CallbackSupportMixin, Estimator):
    """The base class of rankers: `predict` returns scores, higher is ranked first."""

    metric: Any  # MetricChoice
    label_weights: ArrayLike | None = None  # a parameter of some rankers
    _takes_labels: ClassVar[bool] = False  # whether y may have several columns
    _trained_queries: KnownQueries | None = None  # of the last fit
    _attributes: ClassVar[Attributes] = {
        "_trained_queries": Attribute(when="the data are queries", saved=False)
    }

    # requested by default, so that users need not call set_fit_request
    __metadata_request__fit: ClassVar[dict[str, bool]] = {
        "groups": True,
        "X_val": True,
        "y_val": True,
        "groups_val": True,
        "sample_weight_val": True,
        **fit_requests(),
    }
    __metadata_request__score: ClassVar[dict[str, bool]] = {
        "groups": True,
        "label": True,
    }

    def __sklearn_tags__(self) -> Tags:
        """Return the tags: a ranker; y is required, X may be sparse."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        tags.estimator_type = "ranker"
        return tags

    @abstractmethod
    def predict(self, X: MatrixLike) -> NDArray[np.float64]:
        """Score documents; scores are comparable within a query."""

    def rank(
        self, X: MatrixLike, *, groups: IdsLike | None = None
    ) -> NDArray[np.int64]:
        """Rank documents within their queries.

        Parameters
        ----------
        X : array-like of shape (n_documents, n_features)
        groups : array-like of shape (n_documents,), default=None
            The query of each document.  None: all rows are one query; more than 200
            rows are an error.

        Returns
        -------
        ranks : ndarray of shape (n_documents,), int64
            1 is first; equal scores keep the order of the rows.

        Raises
        ------
        NotFittedError, ValueError, TypeError
            As by `predict`, and for groups of another length, or more than 200 rows
            without groups.
        """
        return self._ranks(self.predict(X), groups)

    def score(
        self,
        X: MatrixLike,
        y: ArrayLike,
        *,
        groups: IdsLike | None = None,
        sample_weight: ArrayLike | None = None,
        label: int | str | None = None,
    ) -> float:
        """Return the mean of the ranker's `metric` over queries; None means NDCG@10.

        Parameters
        ----------
        X : array-like of shape (n_documents, n_features)
        y : array-like of shape (n_documents,) or (n_documents, n_labels)
            Relevance grades, finite and >= 0; of several labels, NaN where a label has
            not judged a document.
        groups : array-like of shape (n_documents,), default=None
            The query of each document.  None: all rows are one query, with a
            :class:`MissingGroupsWarning`; more than 200 rows are an error.
        sample_weight : array-like of shape (n_documents,), default=None
            Weight of a query in the mean, constant within a query.
        label : int or str or None, default=None
            Of a y with several columns, the one that is measured: its number, or its
            name in a DataFrame.  None: the mean over labels, by `label_weights`, of
            rankers that have these.

        Returns
        -------
        score : float

        Raises
        ------
        NotFittedError, ValueError, TypeError
            As by `predict`; if y has no such label; if the metric refuses the grades,
            weights or groups; for no rows, or more than 200 without groups.
        """
        scores = self.predict(X)
        return self._mean_metric(scores, y, groups, sample_weight, label)

    def _ranks(
        self, scores: NDArray[np.float64], groups: IdsLike | None
    ) -> NDArray[np.int64]:
        """Return the rank of each document by its score."""
        n_documents = len(scores)
        if n_documents == 0 and (groups is None or n_rows(groups) == 0):
            return np.empty(0, dtype=np.int64)
        if groups is None:
            groups = single_query(n_documents).column
        return rank_scores(scores, groups=groups)

    def _mean_metric(
        self,
        scores: NDArray[np.float64],
        y: ArrayLike,
        groups: IdsLike | None,
        sample_weight: ArrayLike | None,
        label: int | str | None = None,
    ) -> float:
        """Return the mean of the reported metric for the scores of documents."""
        queries = read_queries(groups, len(scores))
        if groups is not None:
            warn_if_cut(self, queries)
        columns: GivenColumns = RowColumns(sample_weight=sample_weight)
        choice = self._labels_of(y) if label is None else LabelChoice(True, None)
        data = read_targets(y, queries, columns, labels=choice)
        data = without_zero_weights(data, "sample_weight")
        labels = bind_labels(self.metric, data, label)
        return mean_of_bound(labels, scores[data.rows])

    def _labels_of(self, y: ArrayLike | None, *, measured: bool = True) -> LabelChoice:
        """Return whether y may hold several labels, and their weights in a mean."""
        return LabelChoice(self._takes_labels, self.label_weights)

    def _read_features(
        self, X: MatrixLike, *, reset: bool = False, name: str = "X"
    ) -> Matrix:
        """Return X as a checked matrix; `reset` stores the names of its columns."""
        return read_feature_table(self, X, reset=reset, name=name)

    def _read_table(self, X: MatrixLike, *, reset: bool, name: str) -> Table:
        """Return X as a table that a fit reads."""
        return table_of(self._read_features(X, reset=reset, name=name))

    def _read_data(
        self,
        X: MatrixLike,
        y: ArrayLike | None,
        groups: IdsLike | None,
        columns: GivenColumns,
        suffix: str = "",
        *,
        reset: bool = False,
    ) -> TrainingData:
        """Read training data, or, with a suffix of the arguments' names, validation."""
        table = self._read_table(X, reset=reset, name=f"X{suffix}")
        labels = self._labels_of(y)
        data = read_training_data(table, y, groups, columns, suffix, labels)
        if not suffix:
            assert data.labels is not None  # the rows are of queries
            self._trained_queries = data.labels, data.sizes
        return without_zero_weights(data, f"sample_weight{suffix}")
