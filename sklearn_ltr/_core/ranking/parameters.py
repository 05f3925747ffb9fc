"""What the parameters of a ranker mean, and which of them go together.

They also know the data of a fit: what is read, held out and learned from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._core.comm import ONE_PROCESS, Comm
from sklearn_ltr._core.data import FitArguments, GivenColumns, TrainingData
from sklearn_ltr._core.data.cross_validation import KnownQueries
from sklearn_ltr._core.data.feature_reader import FeatureReader
from sklearn_ltr._core.data.features import check_has_rows
from sklearn_ltr._core.data.groups import first_copies
from sklearn_ltr._core.data.labels import LabelGrades, label_number
from sklearn_ltr._core.data.query_index import QueryIndex
from sklearn_ltr._core.data.query_values import draw_held_out
from sklearn_ltr._core.data.rows import routing_advice
from sklearn_ltr._core.data.tables import table_of
from sklearn_ltr._core.data.training_data import check_weights, without_zero_weights
from sklearn_ltr._core.estimators.base import FitParameters
from sklearn_ltr._core.lambdas.pair import PairOptions
from sklearn_ltr._core.lambdas.position_bias import BiasOptions, bias_choice
from sklearn_ltr._core.lambdas.user_function import ObjectiveFunction
from sklearn_ltr._core.parameters import (
    LARGEST,
    POSITIVE,
    SMALLEST,
    integer,
    real,
    shown,
)
from sklearn_ltr._core.ranking.reading import (
    LabelChoice,
    check_weighted_pairs,
    read_documents,
    read_ungraded,
)
from sklearn_ltr._core.typing import LabelWeightsLike
from sklearn_ltr.metrics import NDCG, Metric, get_metric

LONGEST_LIST = 2**31  # rows are numbered by int32
SMALLEST_PROPENSITY = 1e-6  # whose inverses, and products of these, stay moderate

MetricChoice = str | Metric | None | Sequence[str | Metric]
ScoringChoice = (
    str | Metric | Sequence[str | Metric] | Mapping[int | str, str | Metric] | None
)
NamedMetrics = list[tuple[str, Metric]]  # of each label
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


def metric_for_label(metric: Any, number: int) -> str | Metric | None:
    """Return the metric of one of several labels: its own, or that of all labels."""
    own: str | Metric | None
    own = metric[number] if isinstance(metric, list | tuple) else metric
    return own


def reported_metric(metric: str | Metric | None) -> Metric:
    """Return the metric that a ranker reports; None stands for NDCG@10."""
    return NDCG(10) if metric is None else get_metric(metric)


@dataclass(frozen=True, kw_only=True)
class RankerParameters(FitParameters):
    """The parameters of every ranker that learns from lambdas, and their meaning.

    Attributes
    ----------
    truncation_level
        Train at this cutoff if the metric's own is smaller: a deeper list has more
        pairs to learn from.  None: keep the metric's cutoff.
    """

    metric: Any  # MetricChoice; None: pairs alone
    objective: Literal["lambdarank"] | ObjectiveFunction
    truncation_level: Annotated[int | None, integer(1, optional=True)]
    sigma: Annotated[float, POSITIVE]
    scoring: ScoringChoice
    position_bias: Annotated[BiasOptions | None, bias_choice("additive", "pairwise")]
    min_propensity: Annotated[float, real(SMALLEST_PROPENSITY, 1)]
    label_weights: LabelWeightsLike | None
    tied_pairs: bool = field(default=False, init=False)  # a parameter of RankNet
    # bounds of weights, and of the sum of |lambda|
    weight_bounds: ClassVar[tuple[float, float]] = (SMALLEST, LARGEST)
    lambda_totals: ClassVar[tuple[float, float]]
    # whether training starts from given scores, or from those of a drawn network
    starts_from_scores: ClassVar[bool]

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
        if isinstance(self.metric, list | tuple):
            for metric in self.metric:
                get_metric(metric)
            if self.scoring is None:
                return
        if isinstance(self.scoring, Mapping):
            if len(self.scoring) == 0:
                raise ValueError("scoring is an empty dict: name a label, or give None")
            for metric in self.scoring.values():
                get_metric(metric)
            return
        self.measured_metrics()  # raises for an unknown metric or scoring

    def for_label(self, number: int) -> Self:
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

    def metrics_of_labels(self, grades: LabelGrades) -> list[NamedMetrics]:
        """Return what is measured: each entry has a named metric for each label."""
        n = grades.n_labels
        own = [reported_metric(metric_for_label(self.metric, i)) for i in range(n)]
        if isinstance(self.scoring, Mapping):
            for label, metric in self.scoring.items():
                number = label_number(label, grades.names, "scoring: label")
                own[number] = get_metric(metric)
        elif self.scoring is not None:
            return [[named] * n for named in self.measured_metrics().items()]
        return [[(metric.name, metric) for metric in own]]

    def training_metrics(self, grades: LabelGrades) -> list[NamedMetrics]:
        """Return what training data are measured by, as `metrics_of_labels` does."""
        return self.metrics_of_labels(grades)

    def measures_metrics(self, has_validation: bool) -> bool:
        """Return whether training data are measured by metrics."""
        return self.metric is not None or self.measures_train

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

    @property
    def pair_options(self) -> PairOptions:
        """How a pair counts."""
        return PairOptions(self.sigma)

    def weight_of_regression(self, n_rows: int) -> float:
        """Return the weight of a regression on the grades of `n_rows` documents."""
        return 0.0

    def has_pairs(self, data: TrainingData) -> NDArray[np.bool_]:
        """Return whether a query has pairs to learn from, (n_queries,)."""
        return data.has_pairs

    def has_tied_pairs(self, data: TrainingData) -> bool:
        """Return whether documents of equal grade are pairs, too."""
        return self.tied_pairs and not data.pairs.stand_for_grades

    # --- the data of a fit, in the order of `prepare` ---------------------------------

    def read_rows(
        self,
        given: FitArguments,
        reader: FeatureReader,
        known: dict[str, Any],
        comm: Comm,
    ) -> tuple[TrainingData, list[TrainingData]]:
        """Return training data, sorted by query, and the validation sets."""
        is_judged = given.pairs.are_given()
        if is_judged:
            given.pairs.check(given.y, self.metric)
            self.check_no_clicks(given.columns, given.pairs.in_words)
        self.check_clicks(given.columns)
        labels = LabelChoice(True, self.label_weights, is_shared=comm.n_workers > 1)
        if is_judged and given.y is None:
            if self.holds_out and not given.validation:
                raise ValueError(
                    f"early_stopping=True with {given.pairs.in_words} needs graded "
                    "documents to measure: give X_val, y_val and groups_val"
                )
            X = reader.table(given.X, "X")
            check_has_rows(X, "X")
            queries, train = read_ungraded(given, X.shape[0])
            pairs = given.pairs.read(queries, by_query=given.groups is not None)
            train = replace(train, X=X, pairs=replace(pairs, stand_for_grades=True))
            train = without_zero_weights(train, "sample_weight")
            if not train.has_pairs.any():
                raise ValueError(
                    "sample_weight is zero for every query that has pairs: there is "
                    "nothing to learn"
                )
            # y is the share of its pairs that a row wins: categories are sorted by it
            train = train.compared()
            shares = train.judged_pairs.shares_won(train.n_rows)
            train = replace(train, grades=LabelGrades.of_one(shares))
        else:
            pairs_of_grades = given.pairs if is_judged else None
            train = read_documents(given, reader, labels, pairs_of_grades)
            known["_trained_queries"] = KnownQueries.of(train)
        if comm.n_workers > 1 and train.n_labels > 1:
            every = np.ones(train.n_rows, dtype=np.bool_)
            largest = np.max(comm.gather(train.grades.largest(every)), axis=0)
            train = replace(train, grades=train.grades.in_units(np.asarray(largest)))
        sets = []
        for one in given.validation:
            if one is None:
                no_rows = train.subset(np.zeros(train.n_queries, dtype=np.bool_))
                no_X = table_of(np.empty((0, reader.n_features)))
                sets.append(replace(no_rows, X=no_X))
            else:
                sets.append(read_documents(one, reader, labels))
        self.check_labels(train.grades.names, sets)
        if comm is not ONE_PROCESS:  # rows of partitions, in fewer bytes
            train, *sets = (
                replace(one, rows=one.rows.astype(np.int32)) for one in (train, *sets)
            )
        return train, sets

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

    def check_no_clicks(self, columns: GivenColumns, judged: str) -> None:
        """Raise a ValueError if judged pairs come with what applies to grades only."""
        if callable(self.objective):
            raise ValueError(
                f"objective is a function, which does not get {judged}: give "
                f"objective='lambdarank', or leave {judged} out"
            )
        if columns.document_weight is not None:
            raise ValueError(
                f"document_weight says how certain grades are, but {judged} are judged "
                "without grades: give one of the two"
            )
        if self.position_bias is None and columns.propensities is None:
            return
        what = "propensities" if self.position_bias is None else "position_bias"
        raise ValueError(
            f"{what} corrects clicks, but {judged} are judgements, not clicks: give "
            "one of the two"
        )

    def check_labels(self, names: tuple[str, ...], sets: list[TrainingData]) -> None:
        """Raise a ValueError unless parameters and validation sets fit these labels."""
        for held in sets:
            if (own := held.grades.names) != names:
                labels, others = (
                    "of one column" if len(given) == 1 else str(list(given))
                    for given in (names, own)
                )
                raise ValueError(
                    f"y has the labels {labels}, but y_val {others}: give the same "
                    "columns"
                )
        if len(names) == 1:
            for name, value in {"metric": self.metric, "scoring": self.scoring}.items():
                is_of_labels = isinstance(value, Mapping) or name == "metric"
                if is_of_labels and isinstance(value, list | tuple | Mapping):
                    raise ValueError(
                        f"{name}={value!r} is for several labels, but y has one "
                        "column: give all of them, or one metric"
                    )
            if self.label_weights is not None:
                raise ValueError(
                    f"label_weights={self.label_weights!r} is for several labels, but "
                    "y has one column: give all of them, or label_weights=None"
                )
            return
        check_metrics_of_labels(self.metric, len(names))
        if callable(self.objective):
            raise ValueError(
                "objective is a function of the grades of one label, but y has "
                f"{len(names)} columns: give one of them, or objective='lambdarank'"
            )
        if self.position_bias is not None:
            raise ValueError(
                f"position_bias={self.position_bias.method!r} learns from the clicks "
                f"of one label, but y has {len(names)} columns: give the clicks alone, "
                "or position_bias=None, with propensities if you know them"
            )
        if isinstance(self.scoring, Mapping):
            for label in self.scoring:
                label_number(label, names, "scoring: label")
        if self.tied_pairs:
            raise ValueError(
                "tied_pairs=True makes pairs of documents of equal grade of one label, "
                f"but y has {len(names)} columns: give one of them, or tied_pairs=False"
            )

    def hold_out(
        self, train: TrainingData, known: Mapping[str, Any], seed: int, comm: Comm
    ) -> tuple[TrainingData, TrainingData]:
        """Divide the queries: a fraction of those of all workers is held out."""
        assert train.query_ids is not None
        index, columns = QueryIndex.locate(train, comm), train.columns
        copied, what = first_copies(train.query_ids), "queries"
        unit = copied if comm.n_workers == 1 else np.arange(index.n_queries)
        if columns.users is not None:  # a cluster takes no users, and no order
            unit, what = columns.users, "users"
        fraction = self.validation_fraction
        held_out = draw_held_out(unit, fraction, seed, columns.order, what)
        n_held_out, held_out = np.count_nonzero(held_out), held_out[index.position]
        # of several copies of a query one is measured
        is_first = copied == np.arange(train.n_queries)
        rest, held = train.subset(~held_out), train.subset(held_out & is_first)
        had_pairs, has_pairs = (
            any(comm.gather(bool(self.has_pairs(part).any()))) for part in (train, rest)
        )
        if had_pairs and not has_pairs and not rest.pairs.are_judged:
            raise ValueError(
                f"early_stopping holds out {n_held_out} of {index.n_queries} queries, "
                "and of those left to learn from, y has no query with two different "
                "grades: give X_val, y_val and groups_val, or more queries"
            )
        return rest, held

    def choose_learned(
        self, train: TrainingData, comm: Comm, *, may_be_none: bool
    ) -> TrainingData:
        """Return the queries that have pairs to learn from."""
        has_pairs, bounds = self.has_pairs(train), self.weight_bounds
        learned = train.subset(has_pairs)
        if may_be_none and not has_pairs.any():
            return learned
        if self.has_tied_pairs(train):
            if not has_pairs.any():
                raise ValueError(
                    "no query of a weight above zero has two documents, so there are "
                    "no pairs to learn from: check groups, sample_weight and "
                    "document_weight"
                )
        elif not train.has_pairs.any():
            sizes = f"n_queries={train.n_queries}, n_samples={train.n_rows}"
            none_left = train.pairs.NONE_LEFT
            raise ValueError(none_left.format(those=train.in_words, sizes=sizes))
        else:
            check_weighted_pairs(train, comm)
        check_weights(learned.sample_weight, "sample_weight", bounds)
        weights = learned.columns.document_weight
        if weights is not None:  # whose products are those of pairs
            low, high = bounds
            check_weights(weights, "document_weight", (low**0.5, high**0.5))
        if learned.pairs.are_judged:
            pairs, product = learned.judged_pairs, "sample_weight times pair_weights"
            check_weights(pairs.weights, "pair_weights", bounds)
            of_queries = np.repeat(learned.sample_weight, np.diff(pairs.offsets))
            check_weights(of_queries * pairs.weights, product, bounds)
        return learned


def check_metrics_of_labels(metric: MetricChoice, n_labels: int) -> None:
    """Raise a ValueError unless there is a metric for each label, or one for all."""
    if isinstance(metric, list | tuple) and len(metric) != n_labels:
        raise ValueError(
            f"metric is a list of {len(metric)}, but y has {n_labels} labels: give "
            "one for each, or one for all"
        )
