"""MART: boosted trees whose cost is a sum over rows (Burges 2010, sections 5 and 6).

F_0 is the constant of least cost, and each tree models the gradient of the cost at the
scores so far.  `BaseMART.fit` is the algorithm; a regressor and a classifier add
the reader of their targets, and the cost.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.model_selection import train_test_split
from sklearn.utils import Tags, column_or_1d, compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from sklearn_ltr._core.boosting.bins import bin_data, fit_threads
from sklearn_ltr._core.boosting.fitted_trees import (
    CURVE,
    TREE_ATTRIBUTES,
    FittedTrees,
    constraints_of,
    read_categories,
    read_tree_features,
)
from sklearn_ltr._core.boosting.loop import boost_trees
from sklearn_ltr._core.boosting.parameters import BoostingParameters, DartValue
from sklearn_ltr._core.boosting.warm_start import KeptTrees, keep_trees
from sklearn_ltr._core.compile import ThreadTeam, expit_of
from sklearn_ltr._core.data import (
    FitArguments,
    FitData,
    RowColumns,
    TrainingData,
    ValidationSet,
    check_holds_rows,
    read_numbers,
)
from sklearn_ltr._core.data.categories import FeatureCategories
from sklearn_ltr._core.data.features import check_has_rows
from sklearn_ltr._core.data.labels import LabelGrades
from sklearn_ltr._core.data.rows import check_each, read_weights
from sklearn_ltr._core.data.tables import Matrix, table_of
from sklearn_ltr._core.data.training_data import check_weights
from sklearn_ltr._core.estimators.attributes import Attribute, Attributes
from sklearn_ltr._core.estimators.base import (
    CallbackSupportMixin,
    Estimator,
    FitTasks,
    refit,
    require,
    with_callbacks,
)
from sklearn_ltr._core.estimators.docstrings import describe_parameters
from sklearn_ltr._core.estimators.validation_range import warn_of_ranges
from sklearn_ltr._core.parameters import LARGEST_SCORE, POSITIVE, read_parameters
from sklearn_ltr._core.trees.evaluate.ensemble import TreeEnsemble
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
from sklearn_ltr.mart._objectives import (
    CrossEntropy,
    HalfSquaredError,
    PointwiseObjective,
    PointwiseTask,
)

ClassWeight = Mapping[Hashable, float] | Literal["balanced"] | None


class BaseMART(CallbackSupportMixin, Estimator):
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
    n_features_in_: int
    ensemble_: TreeEnsemble
    _categories: FeatureCategories
    _is_imported = False  # trees of another library
    _absent_is_missing = False  # what a sparse X does not store
    _stages_changed = False  # by dart
    _attributes: ClassVar[Attributes] = {
        **TREE_ATTRIBUTES,
        "train_score_": Attribute(CURVE),
        "base_score_": Attribute(by_reading=True),
    }
    _parameters: ClassVar[type[BoostingParameters]] = BoostingParameters

    @abstractmethod
    def _read_targets(
        self, y: NDArray[Any], weights: FloatArray, suffix: str, *, is_first: bool
    ) -> tuple[FloatArray, FloatArray]:
        """Return a number and a weight for each row of a weight above 0."""
        # all others are checked by the first targets that a fit reads (`is_first`)

    @abstractmethod
    def _objective(self, data: TrainingData) -> PointwiseObjective:
        """Return the cost of rows."""

    def _strata(self, data: TrainingData) -> FloatArray:
        """Return the stratum of each row: a split puts rows of each in both parts."""
        return np.zeros(data.n_rows)

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
        with refit(self) as model:
            # read
            p = read_parameters(model._parameters, model)
            kept = model._keep(vars(self), p)
            given = FitArguments.of(
                X,
                y,
                None,
                sample_weight=sample_weight,
                X_val=X_val,
                y_val=y_val,
                sample_weight_val=sample_weight_val,
            )
            n_new = p.n_estimators - kept.n_trees
            tasks = FitTasks(self, model, "tree", n_new, given)
            data = model._read(given, p, kept)

            # bin, boost
            with ThreadTeam(fit_threads(p.n_jobs, data.train.X.size)) as team:
                binned = bin_data(data, p, model._categories.feature, kept, team)
                task = model._task(data._replace(learned=binned.rows), p)
                del data  # trees need no X, and no rows in the order they came in
                constraints = constraints_of(p, model)
                grown = boost_trees(binned, task, p, constraints, kept, tasks)
                model.__dict__.update(grown)
        tasks.end()
        return self

    def _task(self, data: FitData, parameters: BoostingParameters) -> PointwiseTask:
        """Return the cost of the rows, by which they are measured, too."""
        objective = self._objective(data.learned)
        sets = [self._objective(held) for held in data.validation]
        is_measured = len(sets) > 0 or parameters.verbose > 0
        measured = [{one.name: one} for one in (objective, *sets)]
        return PointwiseTask(objective, measured if is_measured else [{}])

    def _keep(
        self, attributes: Mapping[str, Any], parameters: BoostingParameters
    ) -> KeptTrees:
        """Return the parts of the last fit that a warm start keeps, or a new seed."""
        return keep_trees(attributes, parameters)

    def _read(
        self, given: FitArguments, parameters: BoostingParameters, kept: KeptTrees
    ) -> FitData:
        """Read the arguments of `fit`, hold out rows, and find F_0."""
        p, is_first = parameters, kept.is_new
        self._categories = read_categories(given.X, p.categorical_features, kept)
        train = self._read_data(given, is_first=is_first)
        sets = [self._read_data(one, is_first=False) for one in given.validation]
        warn_of_ranges(train.X, train.rows, sets, self._categories.feature)
        if p.holds_out and not sets:
            strata = self._strata(train)
            train, *sets = hold_out_rows(
                train, strata, p.validation_fraction, kept.seed
            )
        if is_first:
            self.base_score_ = self._objective(train).initial_score()
        train, *sets = (
            one.with_init_score(np.full(one.n_rows, self.base_score_))
            for one in (train, *sets)
        )
        return FitData(train, train, sets)

    def _read_data(
        self, given: FitArguments | ValidationSet, *, is_first: bool
    ) -> TrainingData:
        """Check the arguments of `fit`, and sort the rows by their values."""
        y, suffix = given.y, given.suffix
        features = self._read_features(given.X, reset=is_first, name=f"X{suffix}")
        check_has_rows(features, f"X{suffix}")
        name, n_rows = f"y{suffix}", features.shape[0]
        if y is None:
            raise ValueError(
                f"{name} is None: {type(self).__name__} requires y to be passed, "
                "but the target y is None; give one value per row"
            )
        check_holds_rows(y, name)
        try:
            column: NDArray[Any] = column_or_1d(y, warn=True)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
        if len(column) != n_rows:
            raise ValueError(
                f"{name} has {len(column)} values for {n_rows} rows of X{suffix}, "
                "inconsistent numbers of samples: give one value per row"
            )
        name, weight = f"sample_weight{suffix}", given.columns.sample_weight
        weights = weights_of_rows(weight, n_rows, name)
        rows = np.flatnonzero(weights)
        targets, weights = self._read_targets(
            column, weights, suffix, is_first=is_first
        )
        if is_first:
            self._categories = self._categories.restrict(features, rows)
        # each row is its own query
        data = TrainingData(
            LabelGrades.of_one(targets),
            np.arange(len(rows) + 1),
            query_ids=None,
            columns=RowColumns(sample_weight=weights),
            X=table_of(features),
            rows=rows,
        )
        with ThreadTeam(fit_threads(self.n_jobs, data.X.size)) as team:
            return data.reordered(data.content_order(data.X.hashes(rows, team), team))

    def _read_features(
        self, X: MatrixLike, *, reset: bool = False, name: str = "X"
    ) -> Matrix:
        """Return X as a checked matrix, with numbers in its categorical columns."""
        return read_tree_features(self, X, self._categories, name, reset=reset)

    def apply(self, X: MatrixLike) -> NDArray[np.int64]:
        """Return the leaf that each row reaches in each tree.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            As for `predict`.

        Returns
        -------
        leaves : ndarray of shape (n_samples, n_trees), int64
            Number of the leaf among the nodes of its tree, from 0 for the root, as in
            scikit-learn's trees.  Inner nodes have numbers, too, so leaf numbers have
            gaps: encode them by a OneHotEncoder to use leaves as features.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError, TypeError
            If X has other columns than at `fit`, an infinite value, or no numbers.

        References
        ----------
        X. He et al., "Practical Lessons from Predicting Clicks on Ads at Facebook",
        ADKDD 2014: the leaves of boosted trees as features of a linear model.
        """
        model = self._fitted()
        return model._trees.leaves(model._read_features(X), model.n_jobs)

    @property
    def feature_importances_(self) -> FloatArray:
        """Share of each feature in the gain of all splits, (n_features,) float64."""
        model = self._fitted()
        return model._trees.importances(model.n_features_in_)

    @property
    def is_categorical_(self) -> NDArray[np.bool_]:
        """Whether each feature is categorical, (n_features,) bool."""
        model = self._fitted()
        return model._categories.mask(model.n_features_in_)

    def __sklearn_tags__(self) -> Tags:
        """Return the tags: y is required; X may be sparse, and NaN is allowed."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags

    @property
    def _trees(self) -> FittedTrees:
        return FittedTrees(
            self._categories, self._mapper, self.ensemble_, self._stages_changed
        )

    def _scores(self, X: MatrixLike) -> FloatArray:
        """Return F of each row."""
        model = self._fitted()
        features = read_tree_features(model, X, model._categories, check_values=False)
        base_score = np.full(features.shape[0], model.base_score_)
        return model._trees.scores(features, base_score, model.n_jobs)

    def _staged_scores(self, X: MatrixLike) -> Iterator[FloatArray]:
        """Yield F of each row after each tree."""
        model = self._fitted()
        features = model._read_features(X)
        base_score = np.full(features.shape[0], model.base_score_)
        yield from model._trees.stages(features, base_score)

    def _check_state(self) -> None:
        """Raise an error if the fitted attributes do not fit together."""
        super()._check_state()
        self._trees.check(self.n_features_in_, self.n_iter_)
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

    def predict(self, X: MatrixLike) -> FloatArray:
        """Return F, (n_samples,) float64."""
        return self._scores(X)

    def staged_predict(self, X: MatrixLike) -> Iterator[FloatArray]:
        """Yield F after each tree, (n_samples,) float64."""
        yield from self._staged_scores(X)

    def _read_targets(
        self, y: NDArray[Any], weights: FloatArray, suffix: str, *, is_first: bool
    ) -> tuple[FloatArray, FloatArray]:
        """Return the numbers and weights of rows of a weight above 0."""
        name, targets = f"y{suffix}", read_numbers(y, len(y), f"y{suffix}")
        required = f"{name} must be finite, and at most {LARGEST_SCORE:g} in size"
        check_each(np.abs(targets) <= LARGEST_SCORE, targets, "row {}".format, required)
        largest = np.abs(targets).max()
        if 0 < largest < 1 / LARGEST_SCORE:
            raise ValueError(
                f"{name} holds no number larger than {largest:.3g}, and squares of "
                "such differences are zero: divide all numbers by it"
            )
        check_weights(weights, f"sample_weight{suffix}")
        return targets[weights > 0], weights[weights > 0]

    def _objective(self, data: TrainingData) -> HalfSquaredError:
        """Return half the squared error."""
        return HalfSquaredError(data)


@dataclass(frozen=True, kw_only=True)
class ClassifierParameters(BoostingParameters):
    """The parameters of MARTClassifier, which documents them."""

    sigma: Annotated[float, POSITIVE]
    class_weight: ClassWeight  # checked where it is used


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

    def _keep(
        self, attributes: Mapping[str, Any], parameters: BoostingParameters
    ) -> KeptTrees:
        """Return the trees that a warm start keeps; a ValueError for another sigma."""
        assert isinstance(parameters, ClassifierParameters)
        kept, sigma = super()._keep(attributes, parameters), parameters.sigma
        if kept.n_trees > 0 and sigma != self._sigma:
            raise ValueError(
                f"sigma={sigma} differs from sigma={self._sigma}, which scales the "
                "trees that warm_start keeps: fit with warm_start=False"
            )
        self._sigma = sigma
        return kept

    def _read_targets(
        self, y: NDArray[Any], weights: FloatArray, suffix: str, *, is_first: bool
    ) -> tuple[FloatArray, FloatArray]:
        """Return -1 for the first class and 1 for the second, and weights."""
        name, weight_name = f"y{suffix}", f"sample_weight{suffix}"
        y = check_labels(y, name)[weights > 0]
        classes = at_most_two_classes(y, name)
        if is_first:
            if len(classes) < 2:
                raise ValueError(
                    f"{name} has only one class, {classes.tolist()}: give rows of two "
                    "classes"
                )
            self.classes_ = classes
        if not np.isin(classes, self.classes_).all():
            raise ValueError(
                f"{name} has the classes {classes.tolist()}, but y has "
                f"{self.classes_.tolist()}: give the same classes"
            )
        weights = weights[weights > 0] * weight_of_rows(self.class_weight, y)
        if self.class_weight is not None:
            weight_name += " times class_weight"
        check_weights(weights, weight_name)
        return np.where(y == self.classes_[1], 1.0, -1.0), weights

    def _objective(self, data: TrainingData) -> CrossEntropy:
        """Return the cross entropy."""
        return CrossEntropy(data, self._sigma)

    def _strata(self, data: TrainingData) -> FloatArray:
        """Return the class of each row."""
        check_rows_of_both(data, self.classes_)
        return data.y

    def _check_state(self) -> None:
        """Raise an error if the fitted attributes do not fit together."""
        super()._check_state()
        require(0 < self._sigma < np.inf, f"its sigma was {self._sigma!r}")
        require(np.shape(self.classes_) == (2,), f"classes_ is {self.classes_!r}")


def weights_of_rows(
    sample_weight: ArrayLike | None, n_rows: int, name: str
) -> FloatArray:
    """Return the weight of each row, (n_rows,) float64; 1 for None."""
    if sample_weight is None:
        return np.ones(n_rows)
    weights = read_weights(sample_weight, n_rows, name)
    if not weights.any():
        raise ValueError(f"{name} is zero for every row: give some a weight above 0")
    return weights


def hold_out_rows(
    data: TrainingData, strata: FloatArray, fraction: float, seed: int
) -> tuple[TrainingData, TrainingData]:
    """Hold out a fraction of the rows of each stratum: (training, validation)."""
    values = np.unique(strata)
    n_held_out = max(ceil(fraction * data.n_rows), len(values))
    if data.n_rows - n_held_out < len(values):
        raise ValueError(
            f"validation_fraction={fraction} of {data.n_rows} rows leaves too few to "
            "learn from: give X_val and y_val, or more rows"
        )
    _, held_out = train_test_split(
        np.arange(data.n_rows),
        test_size=n_held_out,
        random_state=seed,
        stratify=strata if len(values) > 1 else None,
    )
    is_held_out = np.zeros(data.n_rows, dtype=np.bool_)
    is_held_out[held_out] = True
    rng = np.random.default_rng([seed, 1])
    for value in values:  # a rare class may be in one part only
        members = np.flatnonzero(strata == value)
        if is_held_out[members].all() or not is_held_out[members].any():
            is_held_out[rng.choice(members)] ^= True
    return data.subset(~is_held_out), data.subset(is_held_out)


def check_labels(y: NDArray[Any], name: str) -> NDArray[Any]:
    """Return y; an error if its values are not class labels that can be sorted."""
    if y.dtype.kind == "f":
        required, advice = f"{name} must hold classes", ": drop the row"
        check_each(np.isfinite(y), y, "row {}".format, required, advice)
    try:
        check_classification_targets(y)
        np.unique(y)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{name}: {error}") from None
    return y


def at_most_two_classes(y: NDArray[Any], name: str) -> NDArray[Any]:
    """Return the classes of y, sorted; a ValueError if there are more than two."""
    classes = np.unique(y)
    if len(classes) > 2:
        kind = type_of_target(y, input_name=name)
        raise ValueError(
            "Only binary classification is supported. The type of the target is "
            f"{kind}: {name} has {len(classes)} classes; scikit-learn's "
            "HistGradientBoostingClassifier learns more than two"
        )
    return classes


def weight_of_rows(class_weight: ClassWeight, y: NDArray[Any]) -> FloatArray:
    """Return the weight of each row's class; an error that names `class_weight`."""
    if isinstance(class_weight, Mapping):
        for label, weight in class_weight.items():
            POSITIVE.read_as(f"class_weight[{label!r}]", weight)
    elif not (class_weight is None or isinstance(class_weight, str)):
        raise ValueError(
            f'class_weight must be a dict, "balanced" or None, got {class_weight!r}'
        )
    try:
        weights: FloatArray = compute_sample_weight(class_weight, y)
    except (TypeError, ValueError) as error:
        raise ValueError(f"class_weight={class_weight!r}: {error}") from None
    return weights


def check_rows_of_both(data: TrainingData, classes: NDArray[Any]) -> None:
    """Raise a ValueError unless two rows of each class can be divided."""
    for label, value in zip(classes.tolist(), (-1.0, 1.0), strict=True):
        if np.count_nonzero(data.y == value) < 2:
            raise ValueError(
                f"y has only one row of the class {label!r}, but early_stopping=True "
                "learns from and holds out rows of each class: give X_val and y_val, "
                "or more rows"
            )


def probabilities(scores: FloatArray, sigma: float) -> FloatArray:
    """Return the probability of each class (equation 13), (n_samples, 2)."""
    doubled = 2.0 * sigma * scores
    return np.column_stack([expit_of(-doubled), expit_of(doubled)])
