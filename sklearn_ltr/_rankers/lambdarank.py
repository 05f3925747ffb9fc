"""LambdaRank: a network that learns from lambdas of a metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from numpy.typing import ArrayLike

from sklearn_ltr._lambdas.user_function import ObjectiveFunction
from sklearn_ltr._networks import Network
from sklearn_ltr._rankers.networks import NetworkRanker
from sklearn_ltr._ranking.parameters import MetricChoice, ScoringChoice
from sklearn_ltr._typing import Seed


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
    the ranker in a Pipeline.

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
    truncation_level : int of at least 1 or None, default=30
        Train at this cutoff if the metric's own is smaller: a deeper list has more
        pairs to learn from.  None: keep the metric's cutoff.
    sigma : float above 0, default=1.0
        Steepness of the sigmoid.
    hidden_layer_sizes : int or sequence of int, each of at least 1, default=(100,)
        Units of each hidden layer; ``()``: a linear model.
    activation : {"identity", "logistic", "tanh", "relu"}, default="relu"
        Activation function of the hidden layers.
    network : object or None, default=None
        Your own model in place of the perceptron; the two parameters above are then
        ignored.  An object with ``forward(X) -> scores``, ``backward(dC/ds) -> list of
        gradients`` and ``parameters``, a list of arrays that training changes in place.
        `fit` trains a copy.  :class:`sklearn_ltr.TorchNetwork` wraps a PyTorch module.
    solver : {"adam", "sgd"}, default="adam"
        How weights follow their gradient: Adam, or gradient descent with momentum.
        ``solver="sgd", solver_params={"momentum": 0}`` is the step of Burges (2010).
    solver_params : dict or None, default=None
        Parameters of the solver.  "adam" has "beta_1" and "beta_2" in [0, 1), the decay
        of the running means of the gradient and its square, 0.9 and 0.999 by default,
        and "epsilon" in [1.2e-38, 1e19], added to the denominator, 1e-8 by default.
        "sgd" has "momentum" in [0, 1], 0.9 by default, "nesterovs_momentum", whether
        the momentum is Nesterov's, True by default, and "power_t" in [0, 10], the
        exponent of ``learning_rate="invscaling"``, 0.5 by default.
    alpha : float of at least 0, default=0.1
        Strength of the L2 penalty on weights (not on biases), divided by the size of
        the batch.
    batch_size : int of at least 1 or "auto", default="auto"
        Queries per update; their gradients are averaged.  Burges (2010) has 1.  "auto":
        a sixteenth of the queries, at least 1 and at most 8.  If lists are shorter than
        20 documents, queries with 160 documents, if an epoch keeps 100 updates.  From
        pairs alone, without groups: pairs per update, "auto": 200.
    learning_rate : {"constant", "invscaling", "adaptive"}, default="constant"
        Schedule of "sgd".  "invscaling": divided by ``(1 + t) ** power_t`` after each
        epoch, with t the queries visited so far.  "adaptive": divided by 5 whenever
        `n_iter_no_change` epochs have not improved the validation score (without early
        stopping: the training metric); training stops when it falls below 1e-6.
    learning_rate_init : float above 0, default=0.001
        Initial step size, eta.
    max_iter : int of at least 1, default=30
        Maximum number of epochs: passes over all queries in random order.  More epochs
        may overfit: on OHSUMED, 200 epochs lose 0.03 of NDCG@10 against 30.
    tol : float of at least 0, default=1e-4
        Smallest change that counts as an improvement.
    position_bias : "additive", dict or None, default=None
        "additive": learn a bias of each of the `positions` given to `fit`, if y are
        clicks.  Training adds it to the scores; predictions leave it out.  A dict
        has the "method" "additive" and a "regularization", a number >= 0 that shrinks
        the bias towards 0: by default ``0.3 min(1, 5,000 / n)`` for n lists with a
        click and a document without one, or for the sum of their weights if larger.
    min_propensity : float in [1e-6, 1], default=0.05
        Smaller `propensities` given to `fit` are set to this.
    label_weights : array-like of shape (n_labels,) or None, default=None
        Shares of several labels, where y has a column for each, as for
        :class:`LambdaMARTRanker`; the sums :math:`F_l` are those of scores of 0.
    early_stopping : bool or "auto", default="auto"
        Stop when the validation score has not improved for `n_iter_no_change` epochs,
        and keep the best weights.  "auto": if `X_val` is given to `fit`.  False: only
        measure `X_val`.  The first of several sets decides.
    validation_fraction : float in (0, 1), default=0.1
        Fraction of the queries held out for early stopping without `X_val`.
    n_iter_no_change : int of at least 1, default=10
        Number of epochs without a better validation score before training stops.
        Without early stopping it runs to the end: a metric may rise after a long pause.
    scoring : str, Metric, list or dict of these or None, default=None
        Metric measured during the fit, which decides early stopping; None: the
        metric of `score`.  The first of a list decides.
        Of several labels as for :class:`LambdaMARTRanker`.
    warm_start : bool, default=False
        Continue from the weights of the last `fit`.
    random_state : int, RandomState instance or None, default=None
        Seed of the first weights, the order of the queries and the held-out queries.
        Only an integer makes two fits the same.
    verbose : int of at least 0, default=0
        1: print every few seconds the progress, the seconds per epoch and the best
        score so far, and at the end where it stopped.  2: print after every epoch.
    n_jobs : int or None, default=None
        Number of threads, at most the cores this process may use.  None: more for
        larger data.  The number does not change the model.

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
        By set, "train" and "validation" (several: "validation_0", "validation_1", ...),
        and metric: the value in each epoch, NaN for epochs of other fits.  "train" has
        `metric` (below), and the metrics of `scoring` if that is a list.
    train_score_ : ndarray of shape (n_iter,), float64
        Metric of the training queries that have two grades, at the scores that each
        batch had before its update.  With ``metric=None`` there is RankNet's
        `loss_curve_` instead.
    validation_score_ : ndarray of shape (n_iter,), float64
        Validation score of each epoch; empty without early stopping.
    position_bias_ : ndarray of shape (n_positions,), float64
        With `position_bias`: in units of scores, 0 for position 0.
    label_forces_ : ndarray of shape (n_labels,), float64
        Of several labels, the sums F of `label_weights`; 0 where the weight is 0.
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
        label_weights: ArrayLike | None = None,
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
