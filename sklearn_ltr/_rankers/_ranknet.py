"""RankNet: a network + force (sections 2 and 2.1 of the report)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from sklearn_ltr._data import Exposure
from sklearn_ltr._networks import Network
from sklearn_ltr._parameters import check_choice
from sklearn_ltr._rankers._pairwise_ranker import PairwiseRanker
from sklearn_ltr.metrics import Metric


class RankNetRanker(PairwiseRanker):
    r"""RankNet: a neural network that learns which of two documents is better.

    The model's probability that document i beats document j, its cost against a target
    probability, and what that cost does to the weights (section 2 of the report,
    equations 3 and 4):

    .. math::

        P_{ij} = \frac{1}{1 + e^{-\sigma (s_i - s_j)}}, \qquad
        C = -\bar{P}_{ij} \log P_{ij} - (1 - \bar{P}_{ij}) \log (1 - P_{ij}), \qquad
        \lambda_{ij} = \sigma \left(1 - \bar{P}_{ij}
        - \frac{1}{1 + e^{\sigma (s_i - s_j)}}\right),

    .. math::

        \delta w_k = -\eta \sum_i \lambda_i \frac{\partial s_i}{\partial w_k}, \qquad
        \lambda_i = \sum_{j: \{i, j\} \in I} \lambda_{ij}
        - \sum_{j: \{j, i\} \in I} \lambda_{ji}.

    Grades say that the better document of a pair wins, :math:`\bar{P}_{ij} = 1`; pairs
    with measured probabilities can be given in their place.  The lambdas of a document
    are added up before anything is propagated, so an epoch costs time near linear in
    the number of documents.

    Networks learn well from features of about unit size only: put StandardScaler before
    the ranker in a Pipeline.

    Parameters
    ----------
    tied_pairs : bool, default=False
        Whether documents of equal grade are pairs too, with target probability 1/2:
        they pull each other together.
    sigma : float in [1e-19, 1e19], default=1.0
        Steepness of the sigmoid.  `predict_pair_proba` uses that of the last fit.
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
    alpha : float in [0, 1e19], default=1.0
        Strength of the L2 penalty on weights (not on biases), divided by the size of
        the batch.  A query's gradient is a sum over its pairs, so the default is more
        than LambdaRank's; queries of few pairs, many of them, may want less.
    batch_size : int >= 1 or "auto", default="auto"
        Queries per update, whose gradients are averaged; the report's is 1.  "auto":
        a sixteenth of the queries, at least 1 and at most 8.  From pairs without
        groups: pairs per update, "auto": 200.
    learning_rate : {"constant", "invscaling", "adaptive"}, default="constant"
        Schedule of "sgd": constant; divided by ``(1 + t_) ** power_t`` after each
        epoch; or divided by 5 whenever `n_iter_no_change` epochs have not improved the
        validation score, or without early stopping the cost.
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
        training stops when the cost has not fallen for as many.
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
        several), the values of each measure in each epoch, and NaN for epochs of other
        fits.  Training data are measured by the cost (below), and by the metrics of
        `scoring` if that is a list.
    loss_curve_ : ndarray of shape (n_iter,), float64
        Cost C, the mean over training pairs (weighted like their queries), each batch
        scored by the weights that it met, with the bias of positions if it is learned.
        Propensities do not count here.
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
    C. Burges, "From RankNet to LambdaRank to LambdaMART: An Overview", Microsoft
    Research Technical Report MSR-TR-2010-82, 2010.

    Examples
    --------
    >>> from sklearn_ltr import RankNetRanker
    >>> X = [[0.1], [0.9], [0.4], [0.8], [0.2], [0.6]]
    >>> y = [0, 2, 1, 1, 0, 2]
    >>> groups = ["a", "b", "a", "b", "b", "a"]
    >>> ranker = RankNetRanker(random_state=0)
    >>> ranker.fit(X, y, groups=groups).rank(X, groups=groups)
    array([3, 1, 2, 2, 3, 1])
    """

    def __init__(
        self,
        *,
        tied_pairs: bool = False,
        sigma: float = 1.0,
        hidden_layer_sizes: Sequence[int] | int = (100,),
        activation: Literal["relu", "tanh", "logistic", "identity"] = "relu",
        network: Network | None = None,
        solver: Literal["adam", "sgd"] = "adam",
        alpha: float = 1.0,
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
        self.tied_pairs = tied_pairs
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

    @property
    def metric(self) -> None:
        """None: RankNet trains the force alone, without swap deltas."""
        return None

    @metric.setter
    def metric(self, value: Any) -> None:
        raise AttributeError(
            "RankNetRanker has no metric: it learns from pairs alone. Use "
            f"LambdaRankRanker(metric={value!r})"
        )

    @property
    def _uses_tied_pairs(self) -> bool:
        return self.tied_pairs

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self, "tied_pairs", (True, False))

    def _check_exposure(self, exposure: Exposure) -> None:
        super()._check_exposure(exposure)
        if self.tied_pairs and exposure.propensities is not None:
            raise ValueError(
                "propensities weigh a pair by its clicked document, and with "
                "tied_pairs=True there are pairs without one: give tied_pairs=False"
            )
