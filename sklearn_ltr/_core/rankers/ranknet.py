"""RankNet: a network that learns which of two documents is better.

It learns from the grades of documents, as any ranker with a network does
(:mod:`sklearn_ltr._core.rankers.networks`), or from preferences between rows of X.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._core.compile import expit_of
from sklearn_ltr._core.data import GivenColumns
from sklearn_ltr._core.estimators.docstrings import describe_parameters
from sklearn_ltr._core.networks import Network
from sklearn_ltr._core.parameters import BOOL
from sklearn_ltr._core.rankers.networks import (
    NetworkRanker,
    NetworkRankerParameters,
)
from sklearn_ltr._core.ranking.parameters import ScoringChoice
from sklearn_ltr._core.typing import (
    LabelWeightsLike,
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


@describe_parameters(units="queries", training_measure="cost")
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
    the ranker in a Pipeline, or, where columns have a few huge values, as counts and
    prices do, :class:`~sklearn_ltr.preprocessing.SmoothClipScaler`.

    Parameters
    ----------
    tied_pairs : bool, default=False
        Whether documents of equal grade are pairs too, with target probability 1/2:
        they pull each other together.
    sigma : float above 0, default=1.0
        Steepness of the sigmoid.  `predict_pair_proba` uses that of the last fit.
    {hidden_layer_sizes} {activation} {network}
    {solver} {solver_params} {alpha}
        The default is larger than LambdaRank's because a query's gradient is a sum
        over its pairs.
    {batch_size} {learning_rate}
    {learning_rate_init} {max_iter} {tol}
    {position_bias} {min_propensity} {label_weights}
    {early_stopping} {validation_fraction}
    n_iter_no_change : int of at least 1, default=10
        Number of epochs without a better validation score, or without early stopping a
        lower cost, before training stops.
    {scoring}
    {warm_start} {random_state} {verbose} {n_jobs}

    Attributes
    ----------
    {network_} {coef_} {n_iter_}
    evals_result_ : dict of str to dict of str to ndarray of shape (n_iter,)
        By set, "train" and "validation" (several: "validation_0", "validation_1", ...),
        and measure: the value in each epoch, NaN for epochs of other fits.  "train" has
        the cost (below), and the metrics of `scoring` if that is a list.
    loss_curve_ : ndarray of shape (n_iter,), float64
        Cost C, the mean over training pairs (weighted like their queries and
        documents), at the scores that each batch had before its update, with the
        position bias if it is learned.  Propensities do not count here.
    {validation_score_}
    {position_bias_} {label_forces_}
    {n_features_in_} {feature_names_in_}

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
