"""RankNet: a network that learns which of two documents is better.

It learns from the grades of documents, as any ranker with a network does
(:mod:`sklearn_ltr._rankers.networks`), or from preferences between rows of X.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_ltr._compile import expit_of
from sklearn_ltr._data import GivenColumns
from sklearn_ltr._networks import Network
from sklearn_ltr._parameters import BOOL
from sklearn_ltr._rankers.networks import (
    NetworkRanker,
    NetworkRankerParameters,
)
from sklearn_ltr._ranking.parameters import ScoringChoice
from sklearn_ltr._typing import (
    MatrixLike,
    Seed,
)


@dataclass(frozen=True, kw_only=True)
class RankNetParameters(NetworkRankerParameters):
    """The parameters of RankNet, which documents them."""

    metric: None = field(default=None, init=False)  # it learns from pairs alone
    objective: Literal["lambdarank"] = field(default="lambdarank", init=False)
    truncation_level: None = field(default=None, init=False)
    tied_pairs: Annotated[bool, BOOL]

    def check_clicks(self, columns: GivenColumns) -> None:
        """Raise a ValueError unless `fit` was given the columns that are needed."""
        super().check_clicks(columns)
        if self.tied_pairs and columns.propensities is not None:
            raise ValueError(
                "propensities weigh a pair by its clicked document, and with "
                "tied_pairs=True there are pairs without one: give tied_pairs=False"
            )


class RankNetRanker(NetworkRanker):
    r"""A neural network that ranks items by learning which of two is better.

    The model's probability that document i beats document j, its cost against a target
    probability, and what that cost does to the weights (Burges, 2010, section 2,
    equations 3 and 4):

    .. math::

        P_{ij} = \frac{1}{1 + e^{-\sigma (s_i - s_j)}}, \qquad
        C = -\bar{P}_{ij} \log P_{ij} - (1 - \bar{P}_{ij}) \log (1 - P_{ij}),

        \lambda_{ij} = \sigma \left(1 - \bar{P}_{ij}
        - \frac{1}{1 + e^{\sigma (s_i - s_j)}}\right),

    .. math::

        \delta w_k = -\eta \sum_i \lambda_i \frac{\partial s_i}{\partial w_k}, \qquad
        \lambda_i = \sum_{j: \{i, j\} \in I} \lambda_{ij}
        - \sum_{j: \{j, i\} \in I} \lambda_{ji}.

    Grades say that the better document of a pair wins, :math:`\bar{P}_{ij} = 1`; pairs
    with measured probabilities can be given in their place.  Training adds up the
    lambdas of a document before it propagates them, so the time of an epoch is nearly
    linear in the number of documents.

    Networks learn well from features of about unit size only: put StandardScaler before
    the ranker in a Pipeline.

    Parameters
    ----------
    tied_pairs : bool, default=False
        Whether documents of equal grade are pairs too, with target probability 1/2:
        they pull each other together.
    sigma : float above 0, default=1.0
        Steepness of the sigmoid.  `predict_pair_proba` uses that of the last fit.
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
    alpha : float of at least 0, default=1.0
        Strength of the L2 penalty on weights (not on biases), divided by the size of
        the batch.  The default is larger than LambdaRank's because a query's gradient
        is a sum over its pairs.
    batch_size : int of at least 1 or "auto", default="auto"
        Queries per update; their gradients are averaged.  Burges (2010) has 1.  "auto":
        a sixteenth of the queries, at least 1 and at most 8.  If lists are shorter than
        20 documents, queries with 160 documents, if an epoch keeps 100 updates.  From
        pairs without groups: pairs per update, "auto": 200.
    learning_rate : {"constant", "invscaling", "adaptive"}, default="constant"
        Schedule of "sgd".  "invscaling": divided by ``(1 + t) ** power_t`` after each
        epoch, with t the queries visited so far.  "adaptive": divided by 5 whenever
        `n_iter_no_change` epochs have not improved the validation score (without early
        stopping: the cost); training stops when it falls below 1e-6.
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
        Number of epochs without a better validation score, or without early stopping a
        lower cost, before training stops.
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
        and measure: the value in each epoch, NaN for epochs of other fits.  "train" has
        the cost (below), and the metrics of `scoring` if that is a list.
    loss_curve_ : ndarray of shape (n_iter,), float64
        Cost C, the mean over training pairs (weighted like their queries and
        documents), at the scores that each batch had before its update, with the
        position bias if it is learned.  Propensities do not count here.
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
        solver_params: Mapping[str, object] | None = None,
        alpha: float = 1.0,
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
        self.tied_pairs = tied_pairs
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

    _parameters = RankNetParameters

    @property
    def metric(self) -> None:
        """None: RankNet learns from pairs alone, without swap deltas."""
        return None

    @metric.setter
    def metric(self, value: object) -> None:
        raise AttributeError(
            "RankNetRanker has no metric, because it learns from pairs alone: use "
            f"LambdaRankRanker(metric={value!r})"
        )

    def predict_pair_proba(
        self, X_i: MatrixLike, X_j: MatrixLike
    ) -> NDArray[np.float64]:
        """Predict the probability that document i of a pair is better than document j.

        Parameters
        ----------
        X_i, X_j : array-likes of shape (n_pairs, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_pairs,), float64
            P_ij = 1 / (1 + exp(-sigma (s_i - s_j))), section 2 of Burges (2010).

        Raises
        ------
        NotFittedError, ValueError, TypeError
            As by `predict`, and if X_i and X_j have different numbers of rows.
        """
        model = self._fitted()
        s_i, s_j = model.predict(X_i), model.predict(X_j)
        if len(s_i) != len(s_j):
            raise ValueError(
                f"X_i and X_j must have one row for each pair, got {len(s_i)} and "
                f"{len(s_j)} rows"
            )
        return expit_of(model._sigma * (s_i - s_j))
