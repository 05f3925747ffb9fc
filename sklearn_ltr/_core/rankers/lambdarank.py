"""LambdaRank: a network that learns from lambdas of a metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from sklearn_ltr._core.estimators.docstrings import describe_parameters
from sklearn_ltr._core.lambdas.user_function import ObjectiveFunction
from sklearn_ltr._core.networks import Network
from sklearn_ltr._core.rankers.networks import NetworkRanker
from sklearn_ltr._core.ranking.parameters import MetricChoice, ScoringChoice
from sklearn_ltr._core.typing import LabelWeightsLike, Seed


@describe_parameters(units="queries", training_measure="training metric")
class LambdaRankRanker(NetworkRanker):
    r"""A neural network that ranks the items of a list, trained for a metric.

    For a pair whose document i has the higher grade (Burges, 2010, section 4.1,
    equation 6),

    .. math::

        \lambda_{ij} = \frac{-\sigma}{1 + e^{\sigma (s_i - s_j)}} |\Delta Z_{ij}|,
        \qquad \delta w_k = -\eta \sum_i \lambda_i \frac{\partial s_i}{\partial w_k},
        \qquad \lambda_i = \sum_{j: i \triangleright j} \lambda_{ij}
        - \sum_{j: j \triangleright i} \lambda_{ji},

    where Z is the metric, and Delta its change if i and j swap places in the list
    ranked by the present scores.  The weights follow the lambdas of one query (or
    `batch_size` of them) at a time.

    Networks learn well from features of about unit size only: put StandardScaler before
    the ranker in a Pipeline, or, where columns have a few huge values, as counts and
    prices do, :class:`~sklearn_ltr.preprocessing.SmoothClipScaler`.

    Parameters
    ----------
    metric : str, Metric, None or list of these, default="ndcg@10"
        Metric to optimise, to report and to stop early by: a name (``"ndcg@10"``,
        ``"map"``, ``"mrr@10"``, ``"err@20"``, ...), a metric object, or an object of
        your own class derived from :class:`sklearn_ltr.metrics.Metric`.  None: pairwise
        errors alone, RankNet; `score` returns NDCG@10.  Of several labels one for all,
        or a list of one for each.
    objective : "lambdarank" or callable, default="lambdarank"
        What the network learns from: lambdas of the metric, or the derivatives of your
        own cost, as for :class:`LambdaMARTRanker`: ``objective(scores, grades, offsets)
        -> (gradient, hessian)`` for the queries of a batch.  The hessian, `sigma` and
        `truncation_level` are then not used.
    {truncation_level}
    sigma : float above 0, default=1.0
        Steepness of the sigmoid.
    {hidden_layer_sizes} {activation} {network}
    {solver} {solver_params} {alpha} {batch_size}
    {learning_rate}
    {learning_rate_init} {max_iter} {tol}
    {position_bias} {min_propensity} {label_weights}
    {early_stopping} {validation_fraction}
    n_iter_no_change : int of at least 1, default=10
        Number of epochs without a better validation score before training stops.
        Without early stopping it runs to the end: a metric may rise after a long pause.
    {scoring}
    {warm_start} {random_state} {verbose} {n_jobs}

    Attributes
    ----------
    {network_} {coef_} {n_iter_}
    evals_result_ : dict of str to dict of str to ndarray of shape (n_iter,)
        By set, "train" and "validation" (several: "validation_0", "validation_1", ...),
        and metric: the value in each epoch, NaN for epochs of other fits.  "train" has
        `metric` (below), and the metrics of `scoring` if that is a list.
    train_score_ : ndarray of shape (n_iter,), float64
        Metric of the training queries that have two grades, at the scores that each
        batch had before its update.  With ``metric=None`` there is RankNet's
        `loss_curve_` instead.
    {validation_score_}
    {position_bias_} {label_forces_}
    {n_features_in_} {feature_names_in_}

    References
    ----------
    C. Burges, "From RankNet to LambdaRank to LambdaMART: An Overview", MSR-TR-2010-82.

    Examples
    --------
    >>> from sklearn_ltr import LambdaRankRanker
    >>> X = [[0.1], [0.9], [0.4], [0.8], [0.2], [0.6]]
    >>> y = [0, 2, 1, 1, 0, 2]
    >>> groups = ["a", "b", "a", "b", "b", "a"]
    >>> ranker = LambdaRankRanker(random_state=0)
    >>> ranker.fit(X, y, groups=groups).rank(X, groups=groups)
    array([3, 1, 2, 2, 3, 1])
    """

    def __init__(
        self,
        metric: MetricChoice = "ndcg@10",
        *,
        objective: Literal["lambdarank"] | ObjectiveFunction = "lambdarank",
        truncation_level: int | None = 30,
        sigma: float = 1.0,
        hidden_layer_sizes: Sequence[int] | int = (100,),
        activation: Literal["relu", "tanh", "logistic", "identity"] = "relu",
        network: Network | None = None,
        solver: Literal["adam", "sgd"] = "adam",
        solver_params: Mapping[str, object] | None = None,
        alpha: float = 0.1,
        batch_size: int | Literal["auto"] = "auto",
        learning_rate: Literal["constant", "invscaling", "adaptive"] = "constant",
        learning_rate_init: float = 0.001,
        max_iter: int = 30,
        tol: float = 1e-4,
        position_bias: Literal["additive"] | Mapping[str, object] | None = None,
        min_propensity: float = 0.05,
        label_weights: LabelWeightsLike | None = None,
        early_stopping: bool | Literal["auto"] = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        scoring: ScoringChoice = None,
        warm_start: bool = False,
        random_state: Seed = None,
        verbose: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.metric = metric
        self.objective = objective
        self.truncation_level = truncation_level
        self.sigma = sigma
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.network = network
        self.solver = solver
        self.solver_params = solver_params
        self.alpha = alpha
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.learning_rate_init = learning_rate_init
        self.max_iter = max_iter
        self.tol = tol
        self.position_bias = position_bias
        self.min_propensity = min_propensity
        self.label_weights = label_weights
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.scoring = scoring
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs
