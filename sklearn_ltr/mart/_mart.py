"""MART: boosted trees whose cost is a sum over rows (Burges 2010, sections 5 and 6).

F_0 is the constant of least cost, and each tree models the gradient of the cost at the
scores so far.  `BaseMART.fit` is the algorithm; the parameters of the regressor and of
the classifier know how targets are read, and the cost.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import Tags

from sklearn_ltr._core.boosting.bins import bin_data, fit_threads
from sklearn_ltr._core.boosting.fitted_trees import (
    CURVE,
    TREE_ATTRIBUTES,
    TreeEstimator,
)
from sklearn_ltr._core.boosting.loop import boost_trees
from sklearn_ltr._core.boosting.parameters import DartValue
from sklearn_ltr._core.boosting.warm_start import trees_so_far
from sklearn_ltr._core.compile import ThreadTeam, expit_of
from sklearn_ltr._core.data import FitArguments
from sklearn_ltr._core.estimators.attributes import Attribute, Attributes
from sklearn_ltr._core.estimators.base import (
    CallbackSupportMixin,
    FitTasks,
    refit,
    require,
    with_callbacks,
)
from sklearn_ltr._core.estimators.docstrings import describe_parameters
from sklearn_ltr._core.estimators.monitor import Measure
from sklearn_ltr._core.estimators.objective import Task
from sklearn_ltr._core.estimators.preparation import prepare
from sklearn_ltr._core.parameters import LARGEST_SCORE, read_parameters
from sklearn_ltr._core.trees.parameters import LearningRate
from sklearn_ltr._core.typing import (
    ArraysLike,
    FeaturesLike,
    FloatArray,
    InteractionConstraints,
    MatricesLike,
    MatrixLike,
    MonotonicConstraints,
    Seed,
)
from sklearn_ltr.mart._parameters import (
    ClassifierParameters,
    ClassWeight,
    MARTParameters,
    RegressorParameters,
)


class BaseMART(CallbackSupportMixin, TreeEstimator):
    """An estimator whose F is a constant F_0 plus a sum of trees.

    Parameters
    ----------
    {learning_rate}
        Tune it with `n_estimators`: if you halve it, double the trees.
    max_leaf_nodes
        Maximum number of leaves of a tree; L in Burges (2010).  The leaf whose best
        split has the largest gain is split first.  Tune it: larger for many rows,
        smaller if the model overfits.
    {grow_policy}
        Worth a try if there are few rows.
    {subsample}
        Lower it, or set "auto", if there are many rows and a fit takes long.
    {categorical_features}
        The others share one sixteenth of the bins, categories of similar mean targets
        in one.  (In training this mean leaves out the row's own fold, of five folds.)
        Categories unseen in `fit`, and those of fewer than `min_samples_leaf` rows of a
        node, go where missing values go.  Name the features if X is an array, or if the
        dtypes of the frame do not say so.
    {monotonic_cst}
        Use it where you know the direction: more sales must not lower a score.

    Attributes
    ----------
    base_score_ : float
        F_0.
    ensemble_ : TreeEnsemble
        The trees, as arrays.
    n_iter_ : int
        Number of trees kept.
    evals_result_ : dict of str to dict of str to ndarray of shape (n_trees + 1,)
        By set, "train" and "validation" (several: "validation_0", "validation_1", ...),
        the values of the measure below.
    feature_importances_ : ndarray of shape (n_features,), float64
        Share of each feature in the gain of all splits.  Shares sum to 1; without
        splits all are 0.
    is_categorical_ : ndarray of shape (n_features,), bool
        Whether each feature is categorical.
    """

    base_score_: float
    _attributes: ClassVar[Attributes] = {
        **TREE_ATTRIBUTES,
        "train_score_": Attribute(CURVE),
        "base_score_": Attribute(by_reading=True),
    }
    _parameters: ClassVar[type[MARTParameters]]

    @with_callbacks
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: MatricesLike | None = None,
        y_val: ArraysLike | None = None,
        sample_weight_val: ArraysLike | None = None,
    ) -> Self:
        """Learn the targets of rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Numbers, and text in categorical features.  NaN means missing; each split
            sends it to the better side.  float32, float64 and CSR are not converted.
        y : array-like of shape (n_samples,)
            Two classes; finite numbers for the regressor.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of a row in the objective, >= 0.  0: leave the row out; 2: count it
            twice.
        X_val, y_val, sample_weight_val : array-likes or tuples, default=None
            The same for validation data, which are measured after each tree.  Tuples
            are several sets; the first decides early stopping.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError, TypeError
            For a parameter out of its range, arguments of different lengths, or an
            empty X.  For infinite features, columns that are not numbers, invalid
            targets, and weights that are negative or not finite.  If scores diverge.
            The estimator is left as it was.
        """
        arguments = dict(locals())
        with refit(self) as model:
            # read
            p = read_parameters(model._parameters, model)
            so_far = trees_so_far(vars(self), p)
            given = FitArguments.of(**arguments)
            tasks = FitTasks(
                self, model, "tree", p.n_estimators - so_far.n_trees, given
            )
            data = prepare(given, p, so_far)
            model.__dict__.update(data.attributes)

            # bin, boost
            with ThreadTeam(fit_threads(p.n_jobs, data.train.X.size)) as team:
                binned = bin_data(data, p, so_far, team)
                learned, *sets = map(p.objective, (binned.rows, *data.validation))
                constraints = p.constraints(data.reader)
                del data  # trees need no X, and no rows in the order they came in
                measures: list[dict[str, Measure]] = [{}]
                if sets or p.verbose > 0:
                    measures = [{one.name: one} for one in (learned, *sets)]
                task = Task(learned, measures)
                fitted = boost_trees(binned, task, p, constraints, so_far, tasks)
                model.__dict__.update(fitted)
        tasks.end()
        return self

    @property
    def _divides_rows(self) -> bool:
        """Whether the fit has divided rows among folds, for means of categories."""
        return bool(self._mapper.categories.has_shared.any())

    def __sklearn_tags__(self) -> Tags:
        """Return the tags: y is required, X may be sparse."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        return tags

    def _scores(self, X: MatrixLike) -> FloatArray:
        """Return F of each row."""
        model = self._fitted()
        features = model._features.read(X, check_values=False)
        base_score = np.full(features.shape[0], model.base_score_)
        return model._trees.scores(features, base_score, model.n_jobs)

    def _staged_scores(self, X: MatrixLike) -> Iterator[FloatArray]:
        """Yield F of each row after each tree."""
        model = self._fitted()
        features = model._features.read(X)
        base_score = np.full(features.shape[0], model.base_score_)
        yield from model._trees.stages(features, base_score)

    def _check_state(self) -> None:
        """Raise an error if the fitted attributes do not fit together."""
        super()._check_state()
        is_finite = np.abs(self.base_score_) <= LARGEST_SCORE
        require(is_finite, f"base_score_ is {self.base_score_!r}")


@describe_parameters(row="row", units="rows")
class MARTRegressor(RegressorMixin, BaseMART):
    r"""Boosted trees that predict a number, fitted by least squares (MART).

    Each tree models the residuals; a leaf value is their mean in the leaf (Burges 2010,
    section 5, equation 12, for half the squared error):

    .. math::

        L(y, F) = \tfrac{1}{2} (y - F)^2, \qquad
        \gamma_{jm} = \frac{\sum_{x_i \in R_{jm}} (y_i - F_{m-1}(x_i))}{|R_{jm}|},
        \qquad F_m(x) = F_{m-1}(x) + \eta \gamma_{jm}.

    F_0 is the mean of y.  Both split gains are the same here, up to `sample_weight` and
    `l2_regularization`.

    Trained on relevance grades it is the pointwise baseline of learning to rank.  For
    other losses use :class:`sklearn.ensemble.HistGradientBoostingRegressor`.

    Parameters
    ----------
    {n_estimators} {learning_rate} {max_leaf_nodes} {min_samples_leaf} {max_features}
    {grow_policy} {max_depth} {l2_regularization} {path_smooth} {colsample_bytree}
    {subsample} {dart} {max_bins} {split_gain}
    {categorical_features} {category_smoothing}
    {monotonic_cst} {interaction_cst}
    {early_stopping} {validation_fraction} {n_iter_no_change} {tol}
    warm_start : bool, default=False
        Keep the trees of the last `fit` and add to them, up to `n_estimators`.  Its
        bins and seed are kept, too.  Use it to add trees without growing the first ones
        again.
    {random_state} {verbose} {n_jobs}

    Attributes
    ----------
    {base_score_} {ensemble_} {n_iter_} {evals_result_}
    train_score_, validation_score_ : ndarrays of shape (n_trees + 1,), float64
        Minus half the mean squared error before the first tree and after each, those
        dropped by early stopping included; empty where nothing was measured
        (`train_score_` without validation data and with ``verbose=0``;
        `validation_score_` without early stopping).
    {feature_importances_} {is_categorical_}
    {n_features_in_} {feature_names_in_}

    References
    ----------
    C. Burges, "From RankNet to LambdaRank to LambdaMART: An Overview", Microsoft
    Research Technical Report MSR-TR-2010-82, 2010.

    J. Friedman, "Greedy function approximation: a gradient boosting machine", Annals of
    Statistics 29(5), 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_ltr.mart import MARTRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> MARTRegressor(n_estimators=20, max_leaf_nodes=5).fit(X, y).predict(X[:1]).shape
    (1,)
    """

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        learning_rate: LearningRate = 0.1,
        max_leaf_nodes: int = 31,
        min_samples_leaf: int | Literal["auto"] = "auto",
        max_features: float = 1.0,
        grow_policy: Literal["best_first", "symmetric"] = "best_first",
        max_depth: int | None = None,
        l2_regularization: float = 0.0,
        path_smooth: float = 0.0,
        colsample_bytree: float = 1.0,
        subsample: float | Literal["auto"] = 1.0,
        dart: DartValue = None,
        max_bins: int = 255,
        split_gain: Literal["second_order", "least_squares"] = "second_order",
        categorical_features: FeaturesLike = "from_dtype",
        category_smoothing: float = 10.0,
        monotonic_cst: MonotonicConstraints = None,
        interaction_cst: InteractionConstraints = None,
        early_stopping: bool | Literal["auto"] = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 20,
        tol: float = 0.0,
        warm_start: bool = False,
        random_state: Seed = None,
        verbose: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.grow_policy = grow_policy
        self.max_depth = max_depth
        self.l2_regularization = l2_regularization
        self.path_smooth = path_smooth
        self.colsample_bytree = colsample_bytree
        self.subsample = subsample
        self.dart = dart
        self.max_bins = max_bins
        self.split_gain = split_gain
        self.categorical_features = categorical_features
        self.category_smoothing = category_smoothing
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs

    _parameters = RegressorParameters

    def predict(self, X: MatrixLike) -> FloatArray:
        """Return F, (n_samples,) float64."""
        return self._scores(X)

    def staged_predict(self, X: MatrixLike) -> Iterator[FloatArray]:
        """Yield F after each tree, (n_samples,) float64."""
        yield from self._staged_scores(X)


@describe_parameters(row="row", units="rows")
class MARTClassifier(ClassifierMixin, BaseMART):
    r"""Boosted trees that predict one of two classes, fitted by cross entropy (MART).

    With y = 1 for the second of the sorted classes and y = -1 for the first,

    .. math::

        P_+ = \frac{1}{1 + e^{-2 \sigma F(x)}}, \qquad
        L(y, F) = \log(1 + e^{-2 y \sigma F}).

    Each tree models the pseudo-responses, and each leaf takes a Newton step
    (Burges 2010, section 6, equations 13 and 14):

    .. math::

        \bar y_i = \frac{2 y_i \sigma}{1 + e^{2 y_i \sigma F_{m-1}(x_i)}}, \qquad
        \gamma_{jm} = \frac{\sum_{x_i \in R_{jm}} \bar y_i}
        {\sum_{x_i \in R_{jm}} |\bar y_i| (2 \sigma - |\bar y_i|)}, \qquad
        F_m(x) = F_{m-1}(x) + \eta \gamma_{jm}.

    F_0 is half the logarithm of the odds, divided by sigma, as in Friedman's paper.

    The published trees are those of ``split_gain="least_squares"``.  They model
    weighted pseudo-responses: only with "second_order" does a row of weight 2 count
    like two rows.

    For more than two classes use
    :class:`sklearn.ensemble.HistGradientBoostingClassifier`.

    Parameters
    ----------
    {n_estimators} {learning_rate} {max_leaf_nodes} {min_samples_leaf} {max_features}
    {grow_policy} {max_depth} {l2_regularization} {path_smooth} {colsample_bytree}
    {subsample} {dart} {max_bins}
    sigma : float above 0, default=1.0
        Steepness of the sigmoid.  With ``l2_regularization=0`` it makes no difference
        to probabilities and decisions: F scales with 1 / sigma.  Leave it, unless
        `l2_regularization` is above 0.
    class_weight : dict, "balanced" or None, default=None
        Weight of each class in the cost.  Use it if one class is rare and matters as
        much as the other.  "balanced" is the balanced loss of section 6.1: each row
        counts one over the number of rows of its class.  The weights multiply
        pseudo-responses and hessians: the Newton step is equation 15,

        .. math::

            \gamma^B_{jm} = \frac{\sum_{x_i \in R_{jm}}
            \bar y_i (I_+ / n_+ + I_- / n_-)}{\sum_{x_i \in R_{jm}}
            |\bar y_i| (2 \sigma - |\bar y_i|) (I_+ / n_+ + I_- / n_-)},

        which is not the step of weighted pseudo-responses.
    {split_gain}
    {categorical_features} {category_smoothing}
    {monotonic_cst} {interaction_cst}
    {early_stopping} {validation_fraction} {n_iter_no_change} {tol}
    warm_start : bool, default=False
        Keep the trees of the last `fit`, its bins, seed and `sigma`, and add to them.
        Use it to add trees without growing the first ones again.
    {random_state} {verbose} {n_jobs}

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The classes, sorted; the second is the positive one.
    {base_score_} {ensemble_} {n_iter_} {evals_result_}
    train_score_, validation_score_ : ndarrays of shape (n_trees + 1,), float64
        Mean log-likelihood before the first tree and after each, those dropped by early
        stopping included; empty where nothing was measured (`train_score_` without
        validation data and with ``verbose=0``; `validation_score_` without early
        stopping).
    {feature_importances_} {is_categorical_}
    {n_features_in_} {feature_names_in_}

    References
    ----------
    C. Burges, "From RankNet to LambdaRank to LambdaMART: An Overview", Microsoft
    Research Technical Report MSR-TR-2010-82, 2010.

    J. Friedman, "Greedy function approximation: a gradient boosting machine", Annals of
    Statistics 29(5), 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_ltr.mart import MARTClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> classifier = MARTClassifier(n_estimators=20, max_leaf_nodes=5).fit(X, y)
    >>> classifier.predict_proba(X[:1]).shape
    (1, 2)
    """

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        learning_rate: LearningRate = 0.1,
        max_leaf_nodes: int = 31,
        min_samples_leaf: int | Literal["auto"] = "auto",
        max_features: float = 1.0,
        grow_policy: Literal["best_first", "symmetric"] = "best_first",
        max_depth: int | None = None,
        l2_regularization: float = 0.0,
        path_smooth: float = 0.0,
        colsample_bytree: float = 1.0,
        subsample: float | Literal["auto"] = 1.0,
        dart: DartValue = None,
        max_bins: int = 255,
        sigma: float = 1.0,
        class_weight: ClassWeight = None,
        split_gain: Literal["second_order", "least_squares"] = "second_order",
        categorical_features: FeaturesLike = "from_dtype",
        category_smoothing: float = 10.0,
        monotonic_cst: MonotonicConstraints = None,
        interaction_cst: InteractionConstraints = None,
        early_stopping: bool | Literal["auto"] = "auto",
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 20,
        tol: float = 0.0,
        warm_start: bool = False,
        random_state: Seed = None,
        verbose: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.grow_policy = grow_policy
        self.max_depth = max_depth
        self.l2_regularization = l2_regularization
        self.path_smooth = path_smooth
        self.colsample_bytree = colsample_bytree
        self.subsample = subsample
        self.dart = dart
        self.max_bins = max_bins
        self.sigma = sigma
        self.class_weight = class_weight
        self.split_gain = split_gain
        self.categorical_features = categorical_features
        self.category_smoothing = category_smoothing
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Tags:
        """Return the tags: two classes."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def decision_function(self, X: MatrixLike) -> FloatArray:
        """Return F, (n_samples,) float64: above 0 for the second class."""
        return self._scores(X)

    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Return the probabilities of the classes, (n_samples, 2) float64."""
        model = self._fitted()
        return probabilities(model._scores(X), model._sigma)

    def predict(self, X: MatrixLike) -> NDArray[Any]:
        """Return the more probable class of each row, (n_samples,)."""
        model = self._fitted()
        return model.classes_[(model._scores(X) > 0).astype(np.intp)]

    def staged_predict_proba(self, X: MatrixLike) -> Iterator[FloatArray]:
        """Yield the probabilities of the classes after each tree, (n_samples, 2)."""
        model = self._fitted()
        for scores in model._staged_scores(X):
            yield probabilities(scores, model._sigma)

    classes_: NDArray[Any]
    _sigma: float  # of the last fit
    _attributes: ClassVar[Attributes] = {
        "classes_": Attribute("(2,)", by_reading=True),
        "_sigma": Attribute(by_reading=True),
    }
    _parameters = ClassifierParameters

    def _check_state(self) -> None:
        """Raise an error if the fitted attributes do not fit together."""
        super()._check_state()
        require(0 < self._sigma < np.inf, f"its sigma was {self._sigma!r}")
        require(np.shape(self.classes_) == (2,), f"classes_ is {self.classes_!r}")


def probabilities(scores: FloatArray, sigma: float) -> FloatArray:
    """Return the probability of each class (equation 13), (n_samples, 2)."""
    doubled = 2.0 * sigma * scores
    return np.column_stack([expit_of(-doubled), expit_of(doubled)])
