"""What the parameters of a ranker mean, and which of them go together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal, Self

from sklearn_ltr._core.data.labels import LabelGrades, label_number
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


def check_metrics_of_labels(metric: MetricChoice, n_labels: int) -> None:
    """Raise a ValueError unless there is a metric for each label, or one for all."""
    if isinstance(metric, list | tuple) and len(metric) != n_labels:
        raise ValueError(
            f"metric is a list of {len(metric)}, but y has {n_labels} labels: give "
            "one for each, or one for all"
        )
