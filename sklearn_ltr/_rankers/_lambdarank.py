"""LambdaRank: a network + force x swap delta (section 4 of the report)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from sklearn_ltr._networks import Network
from sklearn_ltr._parameters import at_least, check_ranges
from sklearn_ltr._rankers._graded_ranker import GradedRanker
from sklearn_ltr.metrics import Metric


class LambdaRankRanker(GradedRanker):
    r"""LambdaRank: a neural network that learns from lambdas.

    For a pair whose document i has the higher grade (section 4.1 of the report,
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
    the ranker in a Pipeline.

    Parameters
    ----------
    metric : str, Metric or None, default="ndcg@10"
        Metric to optimise, to report and to stop early by: a name (``"ndcg@10"``,
        ``"map"``, ``"mrr@10"``, ``"err@20"``, ...), a metric object, or an object of
        your own class derived from :class:`sklearn_ltr.metrics.Metric`.  None: pairwise
        errors alone, RankNet; NDCG@10 is reported then.
    objective : "lambdarank" or callable, default="lambdarank"
        Lambdas of the metric, or the derivatives of a cost of your own, as for
        :class:`LambdaMARTRanker`: ``objective(scores, grades, offsets) -> (gradient,
        hessian)`` of the queries of a batch.  The hessian is not used, nor are `sigma`
        and `truncation_level` then.
    truncation_level : int >= 1 or None, default=30
        Learn from the metric at this cutoff if the metric's own is smaller: a deeper
        list has more pairs to learn from.  None: from the metric as it is.
    sigma : float in [1e-19, 1e19], default=1.0
        Steepness of the sigmoid.
    hidden_layer_sizes : sequence of int >= 1, or int >= 1, default=(100,)
        Units of each hidden layer; ``()``: a linear model.
    activation : {"relu", "tanh", "logistic", "identity"}, default="relu"
        Activation function of the hidden layers.
    network : object or None, default=None
        A model of your own in place of the perceptron (the two parameters above are
        then ignored): an object with ``forward(X) -> scores``, ``backward(dC/ds) ->
        list of gradients`` and ``parameters``, a list of arrays that are changed in
        place; :class:`sklearn_ltr.TorchNetwork` makes one of a PyTorch module.
        A copy of it is trained.
    solver : {"adam", "sgd"}, default="adam"
        How weights follow their gradient.  ``solver="sgd", momentum=0`` is the report's
        step.
    alpha : float in [0, 1e19], default=0.1
        Strength of the L2 penalty on weights (not on biases), divided by the size of
        the batch.  The default holds few, noisy queries together; many queries with
        reliable grades may want less.
    batch_size : int >= 1 or "auto", default="auto"
        Queries per update, whose gradients are averaged; the report's is 1.  "auto":
        a sixteenth of the queries, at least 1 and at most 8.
    learning_rate : {"constant", "invscaling", "adaptive"}, default="constant"
        Schedule of "sgd": constant; divided by ``(1 + t_) ** power_t`` after each
        epoch; or divided by 5 whenever `n_iter_no_change` epochs have not improved the
        validation score, or without early stopping the metric on the training data.
        Training stops when it falls below 1e-6.
    learning_rate_init : float >= 1.2e-38, default=0.001
        The report's eta: initial step size.
    power_t : float in [0, 10], default=0.5
        Exponent of "invscaling".
    max_iter : int >= 1, default=30
        Maximum number of epochs: passes over all queries, in an order drawn for each.
        A network overfits queries sooner than rows: 200 epochs lose what 30 gained.
    tol : float >= 0, default=1e-4
        Smallest change that counts as an improvement.
    momentum : float in [0, 1], default=0.9
        Momentum of "sgd".
    nesterovs_momentum : bool, default=True
        Whether "sgd" uses Nesterov's momentum.
    beta_1, beta_2 : float in [0, 1), default=0.9 and 0.999
        Decay of "adam"'s running means of the gradient and of its square.
    epsilon : float in [1.2e-38, 1e19], default=1e-8
        Added to "adam"'s denominator.
    position_bias : "additive" or None, default=None
        "additive": learn a bias of each of the `positions` given to `fit`, if y are
        clicks.  Training adds it to the scores, and predictions are without it.
    bias_regularization : float in [0, 1e50] or None, default=None
        Shrinks the bias towards 0; 0: not at all.  None: 0.3.
    min_propensity : float in [1e-6, 1], default=0.05
        Smaller `propensities` given to `fit` count as this.
    early_stopping : bool or "auto", default="auto"
        Stop when the validation score has not improved for `n_iter_no_change` epochs,
        and keep the best weights.  "auto": if `X_val` is given to `fit`.  False:
        `X_val` is only measured.  Of several sets the first is followed.
    validation_fraction : float in (0, 1), default=0.1
        Fraction of the queries held out for early stopping without `X_val`.
    n_iter_no_change : int >= 1, default=10
        Epochs to wait for a better validation score.  Without early stopping
        training runs to the end: a metric may stand still for long and then rise.
    scoring : str, Metric, list of these or None, default=None
        Metric to measure by during the fit, which early stopping follows; None: the
        metric of `score`.  A list: all are measured, and the first is followed.
    warm_start : bool, default=False
        Continue from the weights of the last `fit`.
    random_state : int, RandomState instance or None, default=None
        Seed of the first weights, the order of the queries and the held-out queries.
        Only an integer makes two fits the same.
    verbose : int >= 0, default=0
        Print the values of every `verbose`-th epoch.
    n_jobs : int or None, default=None
        Number of threads, at most the cores this process may use.  None: as many of
        these as the data are worth.  The model is the same, bit for bit, for any.

    Attributes
    ----------
    network_ : MultilayerPerceptron, or a copy of `network`
        The trained network; the perceptron's weights are ``network_.coefs`` and
        ``network_.intercepts``.
    coef_ : ndarray of shape (n_features,), float64
        Without hidden layers: the weights of the features; `intercept_` is 0.0.
    n_iter_ : int
        Epochs so far.
    evals_result_ : dict of str to dict of str to ndarray of shape (n_iter,)
        Of each set, "train" and "validation" ("validation_0", "validation_1", ... of
        several), the values of each metric in each epoch, and NaN for epochs of other
        fits.  Training data are measured by `metric` (below), and by those of `scoring`
        if that is a list.
    train_score_ : ndarray of shape (n_iter,), float64
        Metric of the training queries that have two grades, each query scored by the
        weights that its batch met.  With ``metric=None`` there is RankNet's
        `loss_curve_` instead.
    validation_score_ : ndarray of shape (n_iter,), float64
        Validation score of each epoch; empty without early stopping.
    position_bias_ : ndarray of shape (n_positions,), float64
        With `position_bias`: in units of scores, 0 for position 0.
    n_features_in_ : int
        Number of features at `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if they were strings.

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
        metric: str | Metric | None = "ndcg@10",
        *,
        objective: Literal["lambdarank"] | Callable[..., Any] = "lambdarank",
        truncation_level: int | None = 30,
        sigma: float = 1.0,
        hidden_layer_sizes: Sequence[int] | int = (100,),
        activation: Literal["relu", "tanh", "logistic", "identity"] = "relu",
        network: Network | None = None,
        solver: Literal["adam", "sgd"] = "adam",
        alpha: float = 0.1,
        batch_size: int | Literal["auto"] = "auto",
        learning_rate: Literal["constant", "invscaling", "adaptive"] = "constant",
        learning_rate_init: float = 0.001,
        power_t: float = 0.5,
        max_iter: int = 30,
        tol: float = 1e-4,
        momentum: float = 0.9,
        nesterovs_momentum: bool = True,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = 1e-8,
        position_bias: Literal["additive"] | None = None,
        bias_regularization: float | None = None,
        min_propensity: float = 0.05,
        early_stopping: bool | Literal["auto"] = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        scoring: str | Metric | Sequence[str | Metric] | None = None,
        warm_start: bool = False,
        random_state: Any = None,
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
        self.alpha = alpha
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.learning_rate_init = learning_rate_init
        self.power_t = power_t
        self.max_iter = max_iter
        self.tol = tol
        self.momentum = momentum
        self.nesterovs_momentum = nesterovs_momentum
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self.position_bias = position_bias
        self.bias_regularization = bias_regularization
        self.min_propensity = min_propensity
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.scoring = scoring
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_objective()
        check_ranges(self, [at_least("truncation_level", 1, optional=True)])
