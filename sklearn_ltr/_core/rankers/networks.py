"""Rankers whose scores are the output of a network: RankNet and LambdaRank.

The weights follow the gradient of the scores (section 2.1 of C. Burges, "From RankNet
to LambdaRank to LambdaMART: An Overview", MSR-TR-2010-82).  `NetworkRanker.fit` reads
the documents, holds some out, and trains the network on the others
(:mod:`sklearn_ltr._core.networks.training`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_ltr._core.compile import (
    ThreadTeam,
    effective_n_threads,
    n_threads_of_call,
)
from sklearn_ltr._core.data import (
    FitArguments,
    FitData,
    TrainingData,
    describe_columns,
    fit_requests,
)
from sklearn_ltr._core.data.labels import LabelGrades
from sklearn_ltr._core.estimators.attributes import FEATURES, Attribute, Attributes
from sklearn_ltr._core.estimators.base import (
    FitTasks,
    StepListener,
    refit,
    require,
    with_callbacks,
)
from sklearn_ltr._core.estimators.monitor import EvalsResult
from sklearn_ltr._core.estimators.preparation import prepare
from sklearn_ltr._core.estimators.unused_positions import warn_if_unused
from sklearn_ltr._core.lambdas.position_bias import BiasOptions, bias_choice
from sklearn_ltr._core.networks import (
    GRADIENTS,
    MultilayerPerceptron,
    Network,
    Optimizer,
    predict,
)
from sklearn_ltr._core.networks.parameters import NetworkParameters
from sklearn_ltr._core.networks.training import (
    NetworkSoFar,
    Training,
    continued_optimizer,
    network_so_far,
)
from sklearn_ltr._core.parameters import read_parameters, real
from sklearn_ltr._core.rankers.base import BaseRanker
from sklearn_ltr._core.ranking.fit_data import RankerFitParameters
from sklearn_ltr._core.ranking.objective import FORCES
from sklearn_ltr._core.ranking.parameters import (
    NamedMetrics,
    is_among,
    name_metrics,
    reported_metric,
)
from sklearn_ltr._core.ranking.task import ranking_task
from sklearn_ltr._core.typing import (
    ArraysLike,
    FloatArray,
    IdArraysLike,
    IdsLike,
    MatricesLike,
    MatrixLike,
)

SINGLE_LAMBDA_TOTALS = (1e-30, 1e30)  # of all training data


@dataclass(frozen=True, kw_only=True)
class NetworkRankerParameters(RankerFitParameters, NetworkParameters):
    """The parameters that rankers with a network share.

    Attributes
    ----------
    position_bias
        "additive": learn a bias of each of the `positions` given to `fit`, if y are
        clicks.  Training adds it to the scores; predictions leave it out.  A dict
        has the "method" "additive" and a "regularization", a number >= 0 that shrinks
        the bias towards 0: by default ``0.3 min(1, 5,000 / n)`` for n lists with a
        click and a document without one, or for the sum of their weights if larger.
    min_propensity
        Smaller `propensities` given to `fit` are set to this; a warning says so if all
        are smaller.
    label_weights : array-like of shape (n_labels,), dict or None
        Shares of several labels, where y has a column for each, as for
        :class:`LambdaMARTRanker`; the sums :math:`F_l` are those of scores of 0.
    scoring : str, Metric, list or dict of these or None
        Metric measured during the fit, which decides early stopping; None: the
        metric of `score`.  The first of a list decides.
        Of several labels as for :class:`LambdaMARTRanker`.
    """

    sigma: Annotated[float, real(*GRADIENTS)]
    # not "pairwise": networks ranked no better with it than without a bias
    position_bias: Annotated[BiasOptions | None, bias_choice("additive")]
    weight_bounds: ClassVar[tuple[float, float]] = GRADIENTS
    lambda_totals: ClassVar[tuple[float, float]] = SINGLE_LAMBDA_TOTALS
    starts_from_scores: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Raise an error for values that do not go together."""
        super().__post_init__()
        self.new_optimizer()  # raises for parameters that the solver does not have

    @property
    def stops_on_train(self) -> bool:
        """Whether training stops when its own measure no longer improves."""
        # A cost does fall steadily; a metric may stand still while scores move towards
        # another order, so it only reduces the rate of "adaptive"
        is_adaptive = self.solver == "sgd" and self.learning_rate == "adaptive"
        return self.metric is None or is_adaptive

    def training_metrics(self, grades: LabelGrades) -> list[NamedMetrics]:
        """Return what training data are measured by: `metric`, and a list `scoring`."""
        if grades.n_labels > 1:
            return self.metrics_of_labels(grades)
        wanted = list(self.measured_metrics().values()) if self.measures_train else []
        if self.metric is not None:
            own = reported_metric(self.metric)
            wanted = [own, *(m for m in wanted if not is_among(m, [own]))]
        return [[named] for named in name_metrics(wanted).items()]

    def may_tie(self, data: TrainingData) -> bool:
        """Return whether equal scores of all documents may be the best."""
        return self.tied_pairs or data.pairs.stand_for_grades

    def has_pairs(self, data: TrainingData) -> NDArray[np.bool_]:
        """Return whether a query has pairs to learn from, (n_queries,)."""
        has_pairs, weights = data.has_weighted_pairs, data.columns.document_weight
        if self.has_tied_pairs(data):
            n_counted = data.sizes
            if weights is not None:
                n_counted = np.add.reduceat((weights > 0) * 1, data.offsets[:-1])
            has_pairs = n_counted > 1
        return has_pairs


class NetworkRanker(BaseRanker):
    """A ranker whose scores are the output of a network.

    Attributes
    ----------
    network_ : MultilayerPerceptron, or a copy of `network`
        The trained network; the perceptron's weights are ``network_.coefs`` and
        ``network_.intercepts``.
    coef_ : ndarray of shape (n_features,), float64
        Without hidden layers: the weights of the features; `intercept_` is 0.0.
    n_iter_ : int
        Epochs so far.
    validation_score_ : ndarray of shape (n_iter,), float64
        Validation score of each epoch; empty without early stopping.
    position_bias_ : ndarray of shape (n_positions,), float64
        With `position_bias`: in units of scores, 0 for position 0.
    """

    n_features_in_: int
    network_: Network
    n_iter_: int
    n_jobs: int | None
    validation_score_: FloatArray
    evals_result_: EvalsResult
    _optimizer: Optimizer
    _sigma: float  # of the last fit

    _parameters: ClassVar[type[NetworkRankerParameters]] = NetworkRankerParameters
    _takes_labels, _is_network = True, True
    _attributes: ClassVar[Attributes] = {
        **FEATURES,
        "network_": Attribute(),
        "n_iter_": Attribute(),
        "evals_result_": Attribute(),
        "loss_curve_": Attribute("(n_iter,)", when="metric=None"),
        "train_score_": Attribute("(n_iter,)", when="metric is not None"),
        "validation_score_": Attribute("(n_iter,)"),
        "position_bias_": Attribute("(n_positions,)", when="position_bias is given"),
        FORCES: Attribute("(n_labels,)", when="y has several labels"),
        "_fitted_architecture": Attribute(),
        "_optimizer": Attribute(),
        "_seed": Attribute(),
        "_sigma": Attribute(),
    }

    __metadata_request__partial_fit: ClassVar[dict[str, bool]] = {
        "groups": True,
        **fit_requests(holds_out=False),
    }

    @with_callbacks
    @describe_columns
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        *,
        groups: IdsLike | None = None,
        sample_weight: ArrayLike | None = None,
        document_weight: ArrayLike | None = None,
        positions: ArrayLike | None = None,
        propensities: ArrayLike | None = None,
        users: IdsLike | None = None,
        order: IdsLike | None = None,
        pairs: ArrayLike | None = None,
        pair_probabilities: ArrayLike | None = None,
        pair_weights: ArrayLike | None = None,
        X_val: MatricesLike | None = None,
        y_val: ArraysLike | None = None,
        groups_val: IdArraysLike | None = None,
        sample_weight_val: ArraysLike | None = None,
    ) -> Self:
        """Learn to rank, from grades or from judged pairs.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Finite numbers; float32 is used as it is, and CSR stays sparse.
        y : array-like of shape (n_documents,) or (n_documents, n_labels), default=None
            Relevance grades, finite and >= 0, not necessarily integers; of several
            labels, NaN where a label has not judged a document.  None: without a
            metric, learn from `pairs`.
        {groups}
        {sample_weight}
        {document_weight}
        {positions}
        {propensities}
        {users}
        {order}
        {judgements}
        X_val, y_val, groups_val, sample_weight_val : array-likes or tuples, \
default=None
            The same for validation data, which are measured after each epoch.  Tuples
            are several sets: ``X_val=(X_1, X_2), y_val=(y_1, y_2), ...``; the first
            decides early stopping.  A Pipeline transforms X_val only with
            ``transform_input=["X_val"]``.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError, TypeError
            For a parameter out of its range, arguments of different lengths, an empty
            X, features that are not finite numbers, grades that are negative, not
            finite or too large for the metric's gain, weights that change within a
            query, if no query has two different grades, for pairs that are not two
            different rows of X or of one query, probabilities outside [0, 1] or
            weights of pairs that are negative, not finite or all zero, for both `y` and
            `pairs` without a metric, or one of them alone with one, or if the network
            diverges.  The estimator is left as it was.
        """
        arguments = dict(locals())
        with refit(self) as model:
            p = read_parameters(self._parameters, model)
            so_far = network_so_far(vars(self) if p.warm_start else {}, p)
            given = FitArguments.of(**arguments)
            tasks = FitTasks(self, model, "epoch", p.max_iter, given)
            data = prepare(given, p, so_far)
            warn_if_unused(self, data.train.columns)
            model.__dict__.update(data.attributes)
            fitted = train(data, p.new_optimizer(), p, so_far, p.max_iter, tasks)
            model.__dict__.update(fitted)
        tasks.end()
        return self

    def partial_fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        *,
        groups: IdsLike | None = None,
        sample_weight: ArrayLike | None = None,
        document_weight: ArrayLike | None = None,
        positions: ArrayLike | None = None,
        propensities: ArrayLike | None = None,
        pairs: ArrayLike | None = None,
        pair_probabilities: ArrayLike | None = None,
        pair_weights: ArrayLike | None = None,
    ) -> Self:
        """Continue the last fit with one pass over more queries or pairs.

        Parameters
        ----------
        X, y, groups, sample_weight, document_weight, positions, propensities, \
pairs, pair_probabilities, pair_weights : array-likes
            As in `fit`.  All documents of a query belong in one call: pairs are made
            within it.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError, TypeError
            As by `fit`.  The estimator is left as it was.
        """
        arguments = dict(locals())
        with refit(self) as model:
            p = read_parameters(self._parameters, model)
            so_far = network_so_far(vars(self), p)
            data = prepare(FitArguments.of(**arguments), p, so_far, is_partial=True)
            fitted = dict(so_far.attributes)
            if data.learned.n_queries > 0:
                optimizer = continued_optimizer(so_far, p)
                warn_if_unused(self, data.train.columns)
                fitted = train(data, optimizer, p, so_far, 1, None)
            model.__dict__.update(data.attributes | fitted)
            model._trained_queries = None  # the queries of earlier calls are not known
        return self

    def predict(self, X: MatrixLike) -> FloatArray:
        """Score documents; scores are comparable within a query.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Real and finite.

        Returns
        -------
        scores : ndarray of shape (n_documents,), float64
            Higher is ranked first.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError, TypeError
            If X has other columns than at `fit`, or a value that is not finite in
            float32, or so large that a score is not.
        """
        model = self._fitted()
        features = model._features.read(X)
        with ThreadTeam(n_threads_of_call(model.n_jobs, features.size)) as team:
            try:
                return predict(model.network_, features, team)
            except FloatingPointError:
                raise ValueError(
                    "X holds values far beyond those of fit, so its scores are not "
                    "finite: check X, or clip its values"
                ) from None

    @property
    def coef_(self) -> FloatArray:
        """Weight of each feature, (n_features,) float64: ``s = X @ coef_``.

        An AttributeError if the network is not linear.
        """
        network = self._linear_network("coef_")
        return network.coefs[0][:, 0].astype(np.float64)

    @property
    def intercept_(self) -> float:
        """0.0: ranking costs depend on differences of scores only.

        An AttributeError if the network is not linear.
        """
        self._linear_network("intercept_")
        return 0.0

    def _linear_network(self, name: str) -> MultilayerPerceptron:
        """Return the network; an AttributeError that names the attribute if hidden."""
        network = self._fitted().network_
        if isinstance(network, MultilayerPerceptron) and not network.intercepts:
            return network
        raise AttributeError(
            f"{name} exists only with hidden_layer_sizes=(), without hidden layers: "
            "network_ has the weights of all networks"
        )

    def _check_state(self) -> None:
        """Raise an error if the fitted attributes do not fit together."""
        super()._check_state()
        if isinstance(self.network_, MultilayerPerceptron):
            self.network_.check(self.n_features_in_)
        optimizer, sigma = self._optimizer, self._sigma
        require(isinstance(optimizer, Optimizer), f"its optimizer is {optimizer!r}")
        optimizer.check(self.network_.parameters)
        require(0 < sigma < np.inf, f"its sigma was {sigma!r}")


def train(
    data: FitData,
    optimizer: Optimizer,
    parameters: NetworkRankerParameters,
    so_far: NetworkSoFar,
    n_epochs: int,
    listener: StepListener | None,
) -> dict[str, object]:
    """Train a network; return the fitted attributes."""
    p, rows = parameters, data.learned
    with ThreadTeam(effective_n_threads(p.n_jobs, data.train.X.size)) as team:
        # in an order that does not depend on the order in which they came
        order = rows.content_order(rows.X.hashes(rows.rows, team), team)
        rows = rows.reordered(order)
        if not rows.pairs.by_query:
            rows = rows.each_pair_alone()
        # what batches are made of is measured, too
        measured = data._replace(train=rows, learned=rows)
        task = ranking_task(p, measured, so_far.attributes, team)
        data = data._replace(learned=rows)
        training = Training(data, task, optimizer, p, so_far, team)
        return training.run(n_epochs, listener)
