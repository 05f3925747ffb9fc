"""Bagging of rankers: queries are drawn whole, and scores are averaged."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Annotated, Any, ClassVar, NamedTuple, NoReturn, Self, cast

import joblib
import numpy as np
import sklearn
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.metadata_routing import MetadataRouter, get_routing_for_object

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr._core.caller import DeferredWarning, collected_warnings
from sklearn_ltr._core.compile import ThreadTeam
from sklearn_ltr._core.data import (
    COLUMNS,
    FitArguments,
    QueryGroups,
    TrainingData,
    check_base_scores,
)
from sklearn_ltr._core.data.cross_validation import KnownQueries
from sklearn_ltr._core.data.features import find_features
from sklearn_ltr._core.data.groups import QueryCopy, first_copies
from sklearn_ltr._core.data.pairs import PAIR_ARGUMENTS
from sklearn_ltr._core.data.query_values import draw_held_out
from sklearn_ltr._core.data.rows import index_rows, n_rows
from sklearn_ltr._core.estimators.attributes import Attribute, Attributes
from sklearn_ltr._core.estimators.base import (
    copy_attributes,
    draw_seed,
    refit,
)
from sklearn_ltr._core.estimators.routing import requested_metadata
from sklearn_ltr._core.estimators.unused_positions import positions_may_be_used_by
from sklearn_ltr._core.parameters import (
    BOOL,
    FRACTION_OR_COUNT,
    N_JOBS,
    VERBOSITY,
    count_of,
    integer,
    read_parameters,
)
from sklearn_ltr._core.parts import nested, part_of
from sklearn_ltr._core.rankers.base import BaseRanker
from sklearn_ltr._core.ranking.measures import bind_labels, mean_of_bound
from sklearn_ltr._core.ranking.objective import FORCES
from sklearn_ltr._core.ranking.reading import single_query
from sklearn_ltr._core.typing import (
    ArraysLike,
    FloatArray,
    IdArraysLike,
    IdsLike,
    IntArray,
    MatricesLike,
    MatrixLike,
    Seed,
)
from sklearn_ltr.ensemble._members import (
    FitRows,
    centred_within_queries,
    check_learn_labels,
    check_taken,
    in_parallel,
    predict_scores,
    read_rows,
    warn_of_members,
)
from sklearn_ltr.ensemble._meta_estimators import (
    NO_VALIDATION,
    MetaRanker,
    check_estimator,
    takes_columns,
    with_seeds,
)
from sklearn_ltr.ensemble._shared_bins import SharedBins
from sklearn_ltr.metrics import Metric, get_metric

POOL_THREADS = 3  # threads that joblib starts beside those that fit


@dataclass(frozen=True, kw_only=True)
class BaggingParameters:
    """The parameters of BaggingRanker, which documents them."""

    estimator: BaseEstimator | None
    n_estimators: Annotated[int, integer(1)]
    max_samples: Annotated[float, FRACTION_OR_COUNT]
    bootstrap: Annotated[bool, BOOL]
    oob_score: Annotated[bool, BOOL]
    metric: str | Metric
    random_state: Seed
    verbose: Annotated[int, VERBOSITY]
    n_jobs: Annotated[int | None, N_JOBS]

    def __post_init__(self) -> None:
        """Raise an error for values that are invalid, or do not go together."""
        check_estimator("estimator", self.estimator)
        get_metric(self.metric)
        if self.oob_score and not self.bootstrap and self.max_samples == 1.0:
            raise ValueError(
                "oob_score=True needs queries that a member is not trained on: give "
                "bootstrap=True, or max_samples below 1"
            )


class BaggingRanker(MetaRanker):
    r"""A ranker that averages rankers trained with different seeds or queries.

    .. math::

        s_i = \frac{1}{M} \sum_{m=1}^{M} s^m_i.

    The members differ in what is random in their training: for LambdaMART the rows that
    trees are grown on, for networks the initial weights.  With `max_samples` below 1 or
    `bootstrap`, each member is also trained on queries of its own, and those left out
    estimate the metric on new queries.

    LambdaMARTRankers share one table of binned rows.  Bin edges are set by all rows,
    also for members that are trained on some of the queries; they do not depend on
    grades.  Bins of categories may: with categorical features, such members have bins
    of their own.  So have members that learn from judged pairs.

    Parameters
    ----------
    estimator : estimator or None, default=None
        A ranker, a Pipeline that ends in one, or a regressor, which is fitted without
        groups.  None: ``LambdaMARTRanker()``.
    n_estimators : int of at least 1, default=10
        Number of members, M.
    max_samples : float in (0, 1], or int of at least 1, default=1.0
        Queries drawn for each member: a fraction or a number; of users, if `fit` is
        given `users`, each with all queries of theirs.
    bootstrap : bool, default=False
        Draw queries, or users, with replacement; a query that is drawn twice counts as
        two, which rankers of this package hold out, or divide among folds, together.
        Members that divide rows in another way, such as a search of scikit-learn, are
        an error, unless its `cv` holds out by the `users` or the `order` of `fit`.
    oob_score : bool, default=False
        Whether to score the documents of each query by the members that were not
        trained on it.
    metric : str or Metric, default="ndcg@10"
        The metric that `score` and the out-of-bag estimate report, of all labels: a
        name or a metric object.  What the members are trained for is a parameter of
        `estimator`.
    random_state : int, RandomState instance or None, default=None
        Seed of the queries drawn and of every `random_state` of the members, also
        within a Pipeline; above 200,000 rows, of those that bins are computed from.
        Only an integer makes two fits the same.
    verbose : bool or int of at least 0, default=0
        Print how many members are fitted, as joblib does.
    n_jobs : int or None, default=None
        Number of members fitted at the same time, in threads, fewer if the system
        refuses to start them; each then uses one thread unless its own `n_jobs` is set.
        None: one after the other, each with its own `n_jobs`.  The number does not
        change the model.

    Attributes
    ----------
    estimators_ : list of estimators
        The fitted members.
    estimators_queries_ : list of ndarrays of shape (n_drawn,), int64
        Indices, in the sorted group values, of the queries that each member was
        trained on; ascending, with repetitions if `bootstrap`.
    oob_score_ : float
        With ``oob_score=True``, as all attributes below: mean of the metric over the
        queries that at least one member was not trained on; of several labels, the mean
        of these means by the `label_weights` of `estimator`.
    oob_per_query_ : ndarray of shape (n_queries,) or (n_queries, n_labels), float64
        The metric of each query, in the order of the sorted group values; NaN for
        queries that all members were trained on, those of weight 0, and those that the
        metric leaves out, or a label has not judged.
    oob_prediction_ : ndarray of shape (n_documents,), float64
        Mean score of each document by these members; NaN where there is none.
    oob_staged_score_ : ndarray of shape (n_trees,), float64, or None
        `oob_score_` after 1, 2, ... trees of every member, to choose the number of
        trees by; None if a member is not made of trees, or `dart` has dropped some.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if all were strings.
    feature_importances_ : ndarray of shape (n_features,), float64
        Mean of the members' importances, if they have any.

    References
    ----------
    L. Breiman, "Bagging predictors", Machine Learning 24(2), 1996.

    Examples
    --------
    >>> from sklearn_ltr import LambdaMARTRanker
    >>> from sklearn_ltr.datasets import make_ranking
    >>> from sklearn_ltr.ensemble import BaggingRanker
    >>> data = make_ranking(n_queries=50, random_state=0)
    >>> X, y, groups = data.data, data.target, data.groups
    >>> trees = LambdaMARTRanker(n_estimators=20)
    >>> ranker = BaggingRanker(
    ...     trees, n_estimators=5, max_samples=0.8, oob_score=True, random_state=0
    ... ).fit(X, y, groups=groups)
    >>> ranker.oob_staged_score_.shape, ranker.oob_score_ > 0.5
    ((20,), True)
    """

    _parts, _given = "estimators_", "estimator"
    _attributes: ClassVar[Attributes] = {
        "estimators_": Attribute(),
        "estimators_queries_": Attribute("(n_drawn,)"),
        "oob_score_": Attribute(when="oob_score=True"),
        "oob_per_query_": Attribute(
            "(n_queries,) or (n_queries, n_labels)", when="oob_score=True"
        ),
        "oob_prediction_": Attribute("(n_documents,)", when="oob_score=True"),
        "oob_staged_score_": Attribute("(n_trees,)", when="oob_score=True"),
    }

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        n_estimators: int = 10,
        *,
        max_samples: float = 1.0,
        bootstrap: bool = False,
        oob_score: bool = False,
        metric: str | Metric = "ndcg@10",
        random_state: Seed = None,
        verbose: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.metric = metric
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs

    @property
    def feature_importances_(self) -> FloatArray:
        """Mean of the members' importances, (n_features,) float64."""
        members = self._fitted().estimators_
        shares = np.array([member.feature_importances_ for member in members])
        return np.asarray(shares.mean(axis=0))

    @takes_columns(pairs=True)
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        *,
        groups: IdsLike | None = None,
        sample_weight: ArrayLike | None = None,
        X_val: MatricesLike | None = None,
        y_val: ArraysLike | None = None,
        groups_val: IdArraysLike | None = None,
        sample_weight_val: ArraysLike | None = None,
        users: IdsLike | None = None,
        **columns: ArrayLike | None,
    ) -> Self:
        """Fit the members.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_documents, n_features)
            Input of `estimator`.
        y : array-like of shape (n_documents,) or (n_documents, n_labels), default=None
            Relevance grades, finite and >= 0; of several labels, NaN where a label has
            not judged a document.  None: members learn from `pairs` alone.
        {groups}
        sample_weight : array-like of shape (n_documents,), default=None
            Weight of a query, constant within it.  0: as if it were not there.  Members
            are fitted with it if their `fit` has weights; the steps of a Pipeline must
            say whether they request it (scikit-learn's metadata routing).
        X_val, y_val, groups_val, sample_weight_val : array-likes, default=None
            Passed to members whose `fit` takes them: validation data, tuples of
            several.  A Pipeline transforms X_val with ``transform_input=["X_val"]``.
        users : array-like of shape (n_documents,), default=None
            The user (customer, session, device) of each query, constant within it.
            Users are drawn in place of queries, each with all queries of theirs, and
            members that stop early hold out whole users.
        columns : array-likes, default=None
            Passed to members that learn from them, see
            :meth:`LambdaMARTRanker.fit <sklearn_ltr.LambdaMARTRanker.fit>`.
            `oob_score_` and early stopping measure grades or clicks as they are.
            `pairs` are rows of X; a member is given those of the queries drawn for it,
            twice if a query is drawn twice.

        Returns
        -------
        self : BaggingRanker

        Raises
        ------
        ValueError, TypeError
            For an invalid parameter, invalid grades or weights, ``oob_score=True``
            where no query is left out, members that would hold out copies of rows
            that they learn from, a Pipeline that would not transform X_val, columns
            or pairs that members do not take, several labels for members that learn
            from one, ``oob_score=True`` without y, a member whose queries have no
            pairs, or whatever a member refuses.  The estimator is then unchanged.
        UnsetMetadataPassedError
            For a `sample_weight` if a step of a Pipeline does not say whether it
            requests it.
        """
        with refit(self) as model:
            # read
            p = read_parameters(BaggingParameters, model)
            seed = draw_seed(p.random_state)
            given = FitArguments.of(
                X, y, groups, sample_weight=sample_weight, users=users, **columns
            )
            labels = model._labels_of(y, measured=p.oob_score)
            (estimator,) = self._rankers()
            check_learn_labels(y, [estimator], ["estimator"])
            without_grades = (
                "oob_score=True measures grades, and y is None: give y, or "
                "oob_score=False"
            )
            rows = read_rows(given, labels, without_grades * p.oob_score)
            sets = X_val, y_val, groups_val, sample_weight_val
            named = zip(NO_VALIDATION, sets, strict=True)
            validation = {name: value for name, value in named if value is not None}

            # draw queries and seeds, and fit
            what, users = "users", rows.data.columns.users
            if users is None:  # in a bag of bags, copies are drawn together
                what, users = "queries", first_copies(rows.queries.query_ids)
            _, users = np.unique(users, return_inverse=True)
            n_users = int(users.max()) + 1
            n_drawn = count_of(p.max_samples, n_users, "max_samples", what)
            members, drawn = [], []
            for m in range(p.n_estimators):
                rng = np.random.default_rng([seed, m])
                if p.bootstrap:
                    chosen = rng.integers(n_users, size=n_drawn)
                else:
                    chosen = rng.choice(n_users, n_drawn, replace=False)
                # all queries of a user, as often as the user is drawn
                n_times = np.bincount(chosen, minlength=n_users)[users]
                drawn.append(np.repeat(np.arange(len(users)), n_times))
                members.append(with_seeds(estimator, rng, only_unset=False))
            with sklearn.config_context(enable_metadata_routing=True):
                taken = requested_metadata(members[0], rows.metadata)
                is_given_val = "X_val" in requested_metadata(members[0], validation)
            check_taken(rows, [taken])
            if any(has_copies(rows.queries, queries) for queries in drawn):
                dividing = dividing_parameters(estimator, rows.columns)
                if takes_validation(estimator):  # `fit_member` gives it some
                    dividing -= {"early_stopping"}
                if dividing:
                    refuse_copies(estimator, dividing)
            learn_all = all(takes_all(rows, queries) for queries in drawn)
            holds_out = getattr(members[0], "early_stopping", False) is True
            hold_out = holds_out and not is_given_val
            shared = with_known_bins(members[0], rows, taken, seed, learn_all, hold_out)
            members = fit_members(
                members, drawn, shared, validation, p.n_jobs, p.verbose
            )
            for member, queries in zip(members, drawn, strict=True):
                if divides_rows(member) and has_copies(rows.queries, queries):
                    refuse_copies(estimator, {"for means of categories"})

            # keep
            model.estimators_ = members
            kept_queries = np.flatnonzero(rows.kept_queries)
            model.estimators_queries_ = [kept_queries[queries] for queries in drawn]
            model._trained_queries = KnownQueries.of(rows.data)
            if p.oob_score:
                estimate = out_of_bag(members, drawn, rows, get_metric(p.metric))
                for name, value in estimate._asdict().items():
                    setattr(model, f"oob_{name}_", value)
        return self

    def predict(self, X: MatrixLike) -> FloatArray:
        """Score documents; scores are comparable within a query.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_documents, n_features)
            Input of the members.

        Returns
        -------
        scores : ndarray of shape (n_documents,), float64
            The mean of the members' scores; higher is ranked first.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError, TypeError
            For what a member refuses, or scores that are not finite.
        """
        scores = predict_scores(self._fitted().estimators_, X, "estimators_")
        return reduce(add, scores) / len(scores)

    def predict_std(
        self, X: MatrixLike, *, groups: IdsLike | None = None
    ) -> FloatArray:
        r"""Compute how much the members disagree about the score of each document.

        .. math::

            \sqrt{\tfrac{1}{M} \sum_m (t^m_i - \bar t_i)^2}, \qquad
            t^m_i = s^m_i - \text{mean of } s^m \text{ over the query of } i.

        A member's mean score of a query is subtracted because it does not change the
        order.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_documents, n_features)
            Input of the members.
        groups : array-like of shape (n_documents,), default=None
            The query of each document.  None: all rows are one query; more than 200
            rows are an error.

        Returns
        -------
        deviations : ndarray of shape (n_documents,), float64
            In units of the scores.

        Raises
        ------
        NotFittedError, ValueError, TypeError
            As by `predict`, and for invalid groups.
        """
        scores = predict_scores(self._fitted().estimators_, X, "estimators_")
        n_documents = len(scores[0])
        if n_documents == 0:
            return np.empty(0)
        if groups is None:
            queries = single_query(n_documents, X=X)
        else:
            queries = QueryGroups.from_groups(groups, n_documents)
        canonical = np.array([queries.sort(member_scores) for member_scores in scores])
        centred = centred_within_queries(canonical, queries.offsets[:-1])
        return queries.unsort(centred.std(axis=0))

    def merge(self) -> LambdaMARTRanker:
        """Return the trees of all members as one ranker, with the same scores.

        Leaf values are divided by the number of members, so the scores are those of
        `predict` up to rounding.  The ranker has the parameters of the first member,
        but for `n_estimators`, the number of all trees.

        Returns
        -------
        ranker : LambdaMARTRanker

        Raises
        ------
        NotFittedError
            Before `fit`.
        TypeError, ValueError
            If a member is not a LambdaMARTRanker, or has a base model (`init`).
        """
        members = self._fitted().estimators_

        def numbers(ranker: LambdaMARTRanker) -> list[NDArray[Any]]:
            read, binned = ranker._categories, ranker._mapper.categories
            return [read.feature, binned.first, binned.value, binned.bin, *read.text]

        first = members[0]
        for m, member in enumerate(members):
            if not isinstance(member, LambdaMARTRanker):
                raise TypeError(
                    "only members that are LambdaMARTRanker have trees to merge, and "
                    f"estimators_[{m}] is a {type(member).__name__}"
                )
            if member.init_ is not None:
                raise ValueError(
                    f"estimators_[{m}] adds trees to a base model (init), which trees "
                    "cannot hold: merge members without init"
                )
        for m, member in enumerate(members):
            if not all(map(np.array_equal, numbers(first), numbers(member))):
                raise ValueError(
                    f"estimators_[{m}] has seen other categories than estimators_[0], "
                    "and trees hold the numbers of categories: merge members of "
                    "max_samples=1.0"
                )
        factor = 1.0 / len(members)
        ensemble = reduce(add, (m.ensemble_.scaled(factor) for m in members))
        merged: LambdaMARTRanker = copy_attributes(first).set_params(
            n_estimators=len(ensemble)
        )
        merged.ensemble_, merged.n_iter_ = ensemble, len(ensemble)
        merged.train_score_ = merged.validation_score_ = np.empty(0)
        merged.evals_result_ = {}
        if any(member._stages_changed for member in members):
            merged._stages_changed = True
        # what else the members have learned is not that of their mean
        for name in ("loss_curve_", "position_bias_", FORCES, "_trained_queries"):
            merged.__dict__.pop(name, None)
        return merged


def fit_members(
    members: Sequence[BaseEstimator],
    drawn: Sequence[IntArray],
    rows: FitRows,
    validation: Mapping[str, object],
    n_jobs: int | None,
    verbose: int,
) -> list[BaseEstimator]:
    """Return the members fitted to their queries."""
    # members that are fitted at the same time use one thread each, unless their own
    # `n_jobs` is set
    n_at_once = joblib.effective_n_jobs(n_jobs)
    if n_at_once > 1:  # as many as start: joblib fails where the system refuses one
        with ThreadTeam(n_at_once + POOL_THREADS) as team:
            n_at_once = max(1, min(n_at_once, team.n_threads - POOL_THREADS))
        n_jobs = n_at_once
    calls = (
        (member, queries, rows, validation, n_at_once > 1)
        for member, queries in zip(members, drawn, strict=True)
    )
    # kernels release the GIL, so threads do, and X is not copied to processes
    options = {"prefer": "threads", "verbose": verbose}
    fitted = in_parallel(fit_member, calls, n_jobs, **options)
    with positions_may_be_used_by(members):
        warn_of_members([found for _, found in fitted])
    return [member for member, _ in fitted]


def fit_member(
    member: BaseEstimator,
    drawn: IntArray,
    rows: FitRows,
    validation: Mapping[str, object],
    in_parallel: bool,
) -> tuple[BaseEstimator, list[DeferredWarning]]:
    """Fit one member to the queries drawn for it; return it, and what it warns of."""
    threads = joblib.parallel_config("sequential") if in_parallel else nullcontext()
    with sklearn.config_context(enable_metadata_routing=True), threads:
        if (
            has_copies(rows.queries, drawn)
            and "X_val" not in requested_metadata(member, validation)
            and dividing_parameters(member, rows.columns)
        ):
            # a regressor that would hold out rows is given those of whole queries
            columns = rows.data.columns
            what, unit = "users", columns.users
            if unit is None:
                what, unit = "queries", first_copies(rows.queries.query_ids)
            dates = None if columns.order is None else columns.order[drawn]
            fraction, own_seed = member.validation_fraction, member.random_state
            held_out = draw_held_out(unit[drawn], fraction, own_seed, dates, what)
            X_val, y_val, others = take_queries(rows, np.unique(drawn[held_out]))
            validation = {"X_val": X_val, "y_val": y_val}
            validation |= {f"{name}_val": column for name, column in others.items()}
            drawn = drawn[~held_out]
        X, y, metadata = take_queries(rows, drawn)
        given = requested_metadata(member, {**metadata, **validation})
        with collected_warnings() as found:
            return member.fit(X, y, **given), found


def takes_validation(member: BaseEstimator) -> bool:
    """Return whether the `fit` of a member itself, no part of it, takes X_val."""
    routing = get_routing_for_object(member)
    return not isinstance(routing, MetadataRouter) and "X_val" in routing.fit.requests


def with_known_bins(
    member: BaseEstimator,
    rows: FitRows,
    taken: Mapping[str, Any],
    seed: int,
    learn_all: bool,
    hold_out: bool,
) -> FitRows:
    """Return the rows with an X whose bins are known, if rankers can share these.

    `taken` are the columns that a ranker takes beside X and y; the others say whether
    all learn from all queries, and whether some hold out queries of these.
    """
    if type(member) is not LambdaMARTRanker or {*PAIR_ARGUMENTS} & {*taken}:
        return rows  # of pairs, bins are those of the rows of queries that have any
    # The bins of categories depend on grades, which a member must not learn from where
    # queries are left out, or held out.
    are_same = learn_all and not hold_out
    if not are_same and len(find_features(rows.X, member.categorical_features, "X")):
        return rows
    columns = {name: taken.get(name) for name in COLUMNS}
    given = FitArguments.of(rows.X, rows.y, taken.get("groups"), **columns)
    shared = SharedBins.learn(member, given, seed, hold_out)
    return rows._replace(X=cast(MatrixLike, shared))


def takes_all(rows: FitRows, drawn: IntArray) -> bool:
    """Return whether these are all queries, once."""
    return np.array_equal(drawn, np.arange(rows.queries.n_queries))


def take_queries(
    rows: FitRows, drawn: IntArray
) -> tuple[MatrixLike, ArrayLike | None, dict[str, Any]]:
    """Return X, y and the other columns of some queries, one after the other."""
    if takes_all(rows, drawn) or n_rows(rows.X) == 0:
        return rows.X, rows.y, rows.metadata
    X, y, metadata = rows.take(index_of_queries(rows.queries, drawn))
    # a query that is drawn twice is two queries, which stay together
    numbers: NDArray[Any] = np.arange(len(drawn))
    if has_copies(rows.queries, drawn):
        originals = first_copies(rows.queries.query_ids)[drawn].tolist()
        copies = map(QueryCopy, numbers.tolist(), originals)
        numbers = np.fromiter(copies, object, len(drawn))
    metadata["groups"] = np.repeat(numbers, rows.queries.sizes[drawn])
    return X, y, metadata


def has_copies(queries: QueryGroups, drawn: IntArray) -> bool:
    """Return whether some of the drawn queries are copies of one."""
    return len(np.unique(first_copies(queries.query_ids)[drawn])) < len(drawn)


def index_of_queries(queries: QueryGroups, drawn: IntArray) -> NDArray[np.intp]:
    """Return the rows of some queries, one query after the other."""
    parts = [queries.order[slice(*queries.offsets[q : q + 2])] for q in drawn]
    return np.concatenate([np.empty(0, dtype=np.intp), *parts])


def dividing_parameters(estimator: BaseEstimator, columns: Collection[str]) -> set[str]:
    """Return the parameters by which an estimator, or a part of it, divides rows.

    Those of rankers and splitters that keep copies of a query together are left out;
    `columns` are the names of those that splitters are given.
    """
    params, found = estimator.get_params(deep=True), set()
    for path, value in params.items():
        owner, _, name = path.rpartition("__")
        if isinstance(value, list | tuple):  # such as members without names
            for number, part in enumerate(value):
                if isinstance(part, BaseEstimator):
                    own = dividing_parameters(part, columns)
                    found |= {f"{path}[{number}]__{each}" for each in own}
        if isinstance(params[owner] if owner else estimator, BaseRanker):
            continue
        stops = f"{owner}__early_stopping".removeprefix("__") in params
        divides = {
            "early_stopping": value is True,
            "n_iter_no_change": value is not None and not stops,
            "oob_score": value is True,
            "cv": not isinstance(value, str)
            and getattr(value, "_holds_out_by", None) not in columns,
        }
        if divides.get(name, False):
            found.add(path)
    return found


def divides_rows(fitted: Any) -> bool:
    """Return whether a fitted model has divided rows, or a model within it."""
    model = nested(fitted)[-1]
    if getattr(model, "_divides_rows", False):
        return True
    _, parts = part_of(model)  # of a bag or a blend
    parts = parts if isinstance(parts, list) else []
    within = [*parts, getattr(model, "init_", None)]
    return any(divides_rows(part) for part in within if hasattr(part, "predict"))


def refuse_copies(estimator: BaseEstimator, dividing: set[str]) -> NoReturn:
    """Raise the ValueError for copies of a query that would be divided."""
    raise ValueError(
        f"estimator, a {type(estimator).__name__}, holds out rows "
        f"({', '.join(sorted(dividing))}), and of a query that bootstrap=True draws "
        "twice it would hold out one copy and learn from the other: give "
        "bootstrap=False and max_samples=0.63"
    )


class OutOfBag(NamedTuple):
    """The out-of-bag estimate of a metric."""

    prediction: FloatArray  # (n_documents,) in the order of the rows, or NaN
    per_query: FloatArray  # (n_queries,), or NaN
    score: float
    staged_score: FloatArray | None  # (n_trees,); None: members have no stages


def out_of_bag(
    members: Sequence[BaseEstimator],
    drawn: Sequence[IntArray],
    rows: FitRows,
    metric: Metric,
) -> OutOfBag:
    """Return the metric of scores by members that were not trained on the query."""
    queries, n_queries = rows.queries, rows.queries.n_queries
    # each member scores the queries that it has not seen; a document's score is the
    # mean over these members, NaN where there is none
    left_out = [np.setdiff1d(np.arange(n_queries), d) for d in drawn]
    index = [index_of_queries(queries, unseen) for unseen in left_out]
    n_scores = np.zeros(queries.n_documents)
    for index_m in index:
        n_scores[index_m] += 1
    scored = np.bincount(np.concatenate(left_out), minlength=n_queries) > 0
    if not scored.any():
        raise ValueError(
            f"oob_score=True, but each of the {len(members)} members was trained on "
            "all queries: give more members, or a smaller max_samples"
        )
    parts = [index_rows(rows.X, index_m) for index_m in index]
    scores = []
    for m, (member, part) in enumerate(zip(members, parts, strict=True)):
        n_rows_m, name = len(index[m]), f"what estimators_[{m}] scores"
        predicted = member.predict(part) if n_rows_m > 0 else np.empty(0)
        scores.append(check_base_scores(predicted, n_rows_m, name))

    def mean_of_others(scores: Sequence[FloatArray]) -> FloatArray:
        total = np.zeros(queries.n_documents)
        for index_m, scores_m in zip(index, scores, strict=True):
            total[index_m] += scores_m
        with np.errstate(invalid="ignore"):  # 0 / 0 is NaN
            return total / n_scores

    # the metric is over the queries that some member has not seen
    known = rows.data.subset(scored)
    labels = bind_labels(metric, known)
    mean_scores = mean_of_others(scores)
    score = mean_of_bound(labels, mean_scores[known.rows])
    staged = None
    if all(
        hasattr(member, "staged_predict")
        and not getattr(member, "_stages_changed", False)
        for member in members
    ):
        staged = np.array(
            [
                mean_of_bound(labels, mean_of_others(stage)[known.rows])
                for stage in stages(members, parts)
            ]
        )

    # of all rows and queries that were given, weights of 0 included
    prediction = np.full(len(rows.kept), np.nan)
    prediction[rows.kept] = mean_scores
    own = values_by_query(metric, known, mean_scores[known.rows])
    per_query = np.full((len(rows.kept_queries), *own.shape[1:]), np.nan)
    per_query[np.flatnonzero(rows.kept_queries)[scored]] = own
    return OutOfBag(prediction, per_query, score, staged)


def values_by_query(
    metric: Metric, data: TrainingData, scores: FloatArray
) -> FloatArray:
    """Return the metric of each query, (n_queries,), or (n_queries, n_labels)."""
    values = np.full((data.n_queries, data.n_labels), np.nan)
    for number in range(data.n_labels):
        label = data.of_label(number)
        own = label.data
        if own.n_rows > 0:
            bound = metric.bind(own.y, own.offsets, own.query_ids)
            values[label.queries_of(data), number] = bound.values(scores[label.rows])
    return values[:, 0] if data.n_labels == 1 else values


def stages(
    members: Sequence[BaseEstimator], parts: Sequence[MatrixLike]
) -> Iterator[list[FloatArray]]:
    """Yield the scores of all members after 1, 2, ... trees."""
    # members that stopped early keep their last scores
    stages = [
        member.staged_predict(part) if n_rows(part) > 0 else iter(())
        for member, part in zip(members, parts, strict=True)
    ]
    latest = [np.empty(0) for _ in members]
    for _ in range(max(member.n_iter_ for member in members)):
        latest = [next(stage, last) for stage, last in zip(stages, latest, strict=True)]
        yield latest
