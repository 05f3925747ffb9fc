"""A search for a ranker that ends after a time, or a number of candidates.

candidates: the defaults, then settings drawn at random; each is scored on queries that
            it was not fitted to, fold after fold, and stops if it is behind
model:      the best candidate, or a blend of several if it ranks these queries better
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from time import perf_counter
from typing import Annotated, Any, ClassVar, NamedTuple, Self, TypeAlias

import joblib
import numpy as np
import sklearn
from numpy.typing import ArrayLike
from scipy.stats import rankdata, sem
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import ParameterGrid, ParameterSampler
from sklearn.pipeline import Pipeline

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr._core.caller import collected_warnings
from sklearn_ltr._core.comm import ONE_PROCESS
from sklearn_ltr._core.data import (
    FitArguments,
    TrainingData,
    check_base_scores,
    rescale,
)
from sklearn_ltr._core.data.cross_validation import KnownQueries
from sklearn_ltr._core.estimators.attributes import Attribute, Attributes
from sklearn_ltr._core.estimators.base import draw_seed, refit
from sklearn_ltr._core.estimators.routing import requested_metadata
from sklearn_ltr._core.estimators.unused_positions import positions_may_be_used_by
from sklearn_ltr._core.parameters import (
    BOOL,
    N_JOBS,
    VERBOSITY,
    integer,
    read_parameters,
    real,
)
from sklearn_ltr._core.ranking.measures import BoundLabel, bind_labels, mean_of_bound
from sklearn_ltr._core.typing import FloatArray, IdsLike, IntArray, MatrixLike, Seed
from sklearn_ltr.ensemble import BlendedRanker
from sklearn_ltr.ensemble._bagging import with_known_bins
from sklearn_ltr.ensemble._blended_ranker import equal_weights, make_rankers
from sklearn_ltr.ensemble._held_out import (
    HeldOut,
    Split,
    SplitsLike,
    check_splits_word,
    make_splits,
    out_of_fold,
)
from sklearn_ltr.ensemble._members import (
    FitRows,
    check_learn_labels,
    check_taken,
    predict_scores,
    read_rows,
)
from sklearn_ltr.ensemble._meta_estimators import (
    NO_VALIDATION,
    MetaRanker,
    check_estimator,
    takes_columns,
    with_seeds,
)
from sklearn_ltr.metrics import Metric, get_metric
from sklearn_ltr.model_selection._search_space import lambdamart_search_space

Space: TypeAlias = Mapping[str, Any] | Sequence[Mapping[str, Any]]

MOST_MEMBERS = 5  # of a blend
MOST_SCORES_KEPT = 20  # candidates that a blend is chosen from
N_RECENT = 10  # candidates whose times predict that of the next one
MOST_REPEATS = 200  # settings drawn in a row that were tried before
# Standard errors by which a candidate that stops is behind: in the time of 10 whole
# ones, 16 to 18 are tried with 1, and 11 with 2.  Stops after a quarter and a half of
# the trees found worse settings of MQ2008, and equal ones of the web search.
BEHIND = 1.0
NETWORK = {"ranker": "network"}  # stands for the settings of the network


@dataclass(frozen=True, kw_only=True)
class SearchParameters:
    """The parameters of RankerSearch, which documents them."""

    ranker: BaseEstimator | None
    param_distributions: Space | None
    time: Annotated[float | None, real(0, closed="right", optional=True)]
    n_iter: Annotated[int | None, integer(1, optional=True)]
    metric: str | Metric
    blend: Annotated[bool, BOOL]
    cv: SplitsLike
    n_jobs: Annotated[int | None, N_JOBS]
    random_state: Seed
    verbose: Annotated[int, VERBOSITY]

    def __post_init__(self) -> None:
        """Raise an error for values that are invalid, or do not go together."""
        check_estimator("ranker", self.ranker)
        if self.time is None and self.n_iter is None:
            raise ValueError(
                "time and n_iter are both None, so the search would not end: give "
                "seconds, a number of candidates, or both"
            )
        get_metric(self.metric)
        check_splits_word(self.cv)
        if isinstance(self.cv, str):
            raise ValueError(
                f"cv={self.cv!r} is for fitted models, but a search fits its own: give "
                "a number of folds or a splitter"
            )
        for space in spaces_of(self.read_space()):
            ranker = LambdaMARTRanker() if self.ranker is None else self.ranker
            known = ranker.get_params()
            for name in space:
                if name not in known:
                    raise ValueError(
                        f"param_distributions has {name!r}, but the ranker has no such "
                        f"parameter: give some of {', '.join(sorted(known))}"
                    )

    def read_space(self) -> Space:
        """Return the settings to draw from; raise an error if there are none."""
        if self.param_distributions is not None:
            try:
                ParameterSampler(self.param_distributions, 1)
                if not has_distributions(self.param_distributions):
                    len(ParameterGrid(self.param_distributions))
            except OverflowError:
                raise ValueError(
                    "param_distributions has more than 2^63 settings: give shorter "
                    "lists, or distributions of scipy"
                ) from None
            except (TypeError, ValueError) as error:
                raise type(error)(
                    f"param_distributions is no search space: {error}"
                ) from None
            return self.param_distributions
        space = lambdamart_search_space()
        if self.ranker is None:
            slow = {"learning_rate": [0.05], "n_estimators": [300]}
            return [space, space | slow]
        prefix, last = "", self.ranker
        while isinstance(last, Pipeline):
            name, last = last.steps[-1]
            prefix += f"{name}__"
        if isinstance(last, LambdaMARTRanker):
            return lambdamart_search_space(prefix)
        raise ValueError(
            "param_distributions is None, which is the search space of a "
            f"LambdaMARTRanker, and ranker is a {type(last).__name__}: give its "
            "parameters and their values"
        )


class Candidate(NamedTuple):
    """A setting that was tried."""

    number: int
    params: dict[str, Any]
    ranker: BaseEstimator  # not fitted
    scores: FloatArray | None  # out-of-fold, of the rows; None: no longer needed
    value: float  # NaN if it was stopped
    fold_values: list[float]  # of the folds that were fitted
    shares: list[FloatArray]  # the values of the queries of each; as long as `scores`
    is_stopped: bool  # as it was behind
    seconds: float
    elapsed: float  # seconds since the fit began


class RankerSearch(MetaRanker):
    r"""A search for the best ranker within a given time.

    The first candidate is the given ranker; the others have settings drawn at random.
    Each is scored by cross-validation over whole queries, and stops before the next
    fold if it is behind the best one by more than a standard error.  The model is the
    best candidate, or a blend of up to five if that ranks the held-out queries better.
    It is fitted to all queries.

    ``RankerSearch()`` tries the defaults of LambdaMARTRanker, then the network that
    :class:`~sklearn_ltr.ensemble.BlendedRanker` has, then settings of LambdaMARTRanker.

    Parameters
    ----------
    ranker : estimator or None, default=None
        A ranker, a Pipeline that ends in one, or a regressor, which is fitted without
        groups.  None: LambdaMARTRanker and a network, both for `metric`.
    param_distributions : dict, list of dicts or None, default=None
        Names of parameters of `ranker`, and lists of their values or distributions of
        scipy, as in :class:`sklearn.model_selection.RandomizedSearchCV`.  None, for a
        LambdaMARTRanker or a Pipeline that ends in one:
        :func:`lambdamart_search_space`; without `ranker`, half of the settings also
        have ``learning_rate=0.05`` and 300 trees.
    time : float above 0 or None, default=60.0
        About how many seconds `fit` may take.  The search ends, without the candidate
        of that time, as soon as the candidate and the fit to all queries are not
        expected to end by then; the first one is always finished.  None: `n_iter`
        candidates, however long they take.
    n_iter : int of at least 1 or None, default=None
        Most candidates, defaults included.  None: as many as there is time for.
    metric : str or Metric, default="ndcg@10"
        The metric that candidates are compared by and that `score` returns, of all
        labels: a name or a metric object.  Of several labels, the weighted mean by the
        `label_weights` of `ranker`, whichever those of a candidate are.
    blend : bool, default=True
        Whether several candidates may be blended.  False: the model is one candidate,
        which can be exported.
    cv : int, splitter or iterable of splits, default=None
        How queries are held out: the number of folds of a GroupKFold, a scikit-learn
        splitter, or pairs of (training rows, held-out rows).  Each row is held out
        once, and no query is cut apart.  None: five folds.  All candidates have the
        same folds.
    n_jobs : int or None, default=None
        Number of folds to run in parallel, as in
        :func:`sklearn.model_selection.cross_val_predict`.  It does not change the
        model.
    random_state : int, RandomState instance or None, default=None
        Seed of the settings that are drawn, and of every `random_state` of the ranker
        that is None; candidates then have different ones.  Only an integer makes the
        candidates of two fits the same.
    verbose : bool or int of at least 0, default=0
        0: print only the effect of an interrupt; 1: a line for each candidate better
        than all before, and one at the end; more: a line for each candidate.

    Attributes
    ----------
    best_estimator_ : estimator
        The model, fitted to all queries: the best candidate, or a BlendedRanker.
    best_score_ : float
        The metric of this model on the held-out queries.  It is a little too high, as a
        maximum of many values; for an estimate cross-validate the search itself.
    best_index_ : int
        Number of the best candidate, 0 for the defaults.
    best_params_ : dict
        Its settings; empty for the defaults, ``{"ranker": "network"}`` for the network.
    members_ : ndarray of shape (n_members,), int64
        Numbers of the candidates in ``best_estimator_``, in the order in which they
        were chosen.
    cv_results_ : dict
        An item for each candidate, by name as in scikit-learn's searches: ``params``, a
        list of dicts, ``{}`` for the defaults; ``split0_test_score``, ..., the metric
        of each fold, NaN if it was not fitted; ``mean_test_score``, that of all
        held-out queries, each counting once; ``rank_test_score``, 1 is best;
        ``stopped``, whether the candidate was behind, so that its mean is NaN and its
        rank the last; ``elapsed_time``, seconds from the begin of `fit` to the end of
        the candidate.
    n_features_in_ : int
        Number of features seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, if all were strings.

    See Also
    --------
    lambdamart_search_space : The settings that are drawn.
    sklearn_ltr.plotting.SearchTraceDisplay : Draws the candidates and the best so far.
    sklearn.model_selection.HalvingRandomSearchCV : Gives few trees to many settings.

    Notes
    -----
    `random_state` determines the sequence of candidates; `time` and the machine
    determine how many are tried.  Nothing else changes the model: with ``time=None``
    and `n_iter` the number that was tried, a fit gives the same model again.

    After each fold but the last a candidate is compared with the best that is finished:
    it stops if the mean difference on the queries held out so far is below minus its
    standard error, paired by query.  The network is never stopped, and stops none: a
    blend may gain by it where it is behind.  Settings equal to earlier ones, or to the
    defaults, are not tried.

    LambdaMARTRankers share one table of binned rows while they are compared, as in a
    :class:`~sklearn_ltr.ensemble.BaggingRanker`: bin edges are set by all rows, and do
    not depend on grades.  With categorical features or judged pairs, or a `cv` that
    leaves queries out, as folds forward in time do, each fit has its own.

    Ctrl-C (KeyboardInterrupt) ends the search, not the fit: the model is then made of
    the candidates that are finished.  While it is fitted, or while the defaults are,
    Ctrl-C ends the fit, and the estimator is unchanged.

    Candidates are added to a blend one at a time, the one that raises the metric of the
    held-out queries most, until none does, as in [1]_.  Their scores are scaled as by
    ``BlendedRanker(method="equal")``.

    References
    ----------
    .. [1] R. Caruana, A. Niculescu-Mizil, G. Crew and A. Ksikes, "Ensemble selection
       from libraries of models", ICML 2004.

    Examples
    --------
    >>> from sklearn_ltr import LambdaMARTRanker
    >>> from sklearn_ltr.datasets import make_ranking
    >>> from sklearn_ltr.model_selection import RankerSearch
    >>> data = make_ranking(n_queries=50, random_state=0)
    >>> X, y, groups = data.data, data.target, data.groups
    >>> search = RankerSearch(
    ...     LambdaMARTRanker(n_estimators=10), n_iter=3, cv=2, random_state=0
    ... ).fit(X, y, groups=groups)
    >>> len(search.cv_results_["params"]), search.cv_results_["params"][0]
    (3, {})
    >>> best = search.cv_results_["mean_test_score"][search.best_index_]
    >>> bool(search.best_score_ >= best)
    True
    """

    __metadata_request__fit: ClassVar[dict[str, str]] = NO_VALIDATION

    _parts = "best_estimator_"
    _attributes: ClassVar[Attributes] = {
        "best_estimator_": Attribute(),
        "best_score_": Attribute(),
        "best_index_": Attribute(),
        "best_params_": Attribute(),
        "members_": Attribute("(n_members,)"),
        "cv_results_": Attribute(),
    }

    def __init__(
        self,
        ranker: BaseEstimator | None = None,
        *,
        param_distributions: Space | None = None,
        time: float | None = 60.0,
        n_iter: int | None = None,
        metric: str | Metric = "ndcg@10",
        blend: bool = True,
        cv: SplitsLike = None,
        n_jobs: int | None = None,
        random_state: Seed = None,
        verbose: int = 0,
    ) -> None:
        self.ranker = ranker
        self.param_distributions = param_distributions
        self.time = time
        self.n_iter = n_iter
        self.metric = metric
        self.blend = blend
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @takes_columns(pairs=True)
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        *,
        groups: IdsLike | None = None,
        sample_weight: ArrayLike | None = None,
        users: IdsLike | None = None,
        order: IdsLike | None = None,
        **columns: ArrayLike | None,
    ) -> Self:
        """Try candidates as long as there is time, and fit the best to all queries.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_documents, n_features)
            Input of the ranker.
        y : array-like of shape (n_documents,) or (n_documents, n_labels)
            Relevance grades, finite and >= 0; of several labels, NaN where a label has
            not judged a document.
        {groups}
        sample_weight : array-like of shape (n_documents,), default=None
            Weight of a query in the metric, constant within it.  0: as if it were not
            there.  Candidates are fitted with it if their `fit` has weights; the steps
            of a Pipeline must say whether they request it (scikit-learn's metadata
            routing).
        {folds}
        columns : array-likes, default=None
            Passed to rankers that learn from them, see
            :meth:`LambdaMARTRanker.fit <sklearn_ltr.LambdaMARTRanker.fit>`.  The
            metric, by which candidates are compared, is that of grades or clicks as
            they are.  `pairs` are rows of X; candidates are given those within the rows
            that they learn from.

        Returns
        -------
        self : RankerSearch

        Raises
        ------
        ValueError, TypeError
            For an invalid parameter, more folds than queries, invalid grades or
            weights, columns or pairs that no candidate is fitted with, several labels
            for a ranker that learns from one, or whatever the ranker refuses, also of a
            setting that is drawn; a note on the error then says which.  The estimator
            is unchanged.
        UnsetMetadataPassedError
            For a `sample_weight` if a step of a Pipeline does not say whether it
            requests it.
        """
        # read
        start = perf_counter()
        p = read_parameters(SearchParameters, self)
        columns |= {"sample_weight": sample_weight}
        given = FitArguments.of(X, y, groups, users=users, order=order, **columns)
        check_learn_labels(y, self._rankers(), ["ranker"])
        rows = read_rows(
            given,
            self._labels_of(y),
            "y is None, and candidates are compared by a metric of grades: give y "
            "beside the pairs, and a ranker with a metric",
        )
        splits = make_splits(p.cv, rows)

        # try candidates, choose, and fit to all rows
        tried = try_candidates(p, rows, splits, start)
        metric = get_metric(p.metric)
        ranked = finished(tried)
        best, members, value = ranked[0], ranked[:1], ranked[0].value
        if p.blend:
            members, value = choose_members(ranked, rows, splits, metric)
        ranker = best.ranker
        if len(members) > 1:
            named = [(f"candidate{one.number}", one.ranker) for one in members]
            ranker = BlendedRanker(named, metric=p.metric)
        if p.verbose > 0:
            numbers = ", ".join(str(one.number) for one in members)
            found = f"candidate {numbers}, {best.params or 'the defaults'}"
            if len(members) > 1:
                found = f"a blend of candidates {numbers}"
            ONE_PROCESS.print_line(
                f"{count_candidates(tried)} in {tried[-1].elapsed:.1f} s: "
                f"{metric.name} {value:.4f} by {found}, fitted now to all queries"
            )
        with sklearn.config_context(enable_metadata_routing=True):
            fitted = clone(ranker)
            metadata = requested_metadata(fitted, rows.metadata)
            with positions_may_be_used_by(self):
                fitted.fit(rows.X, rows.y, **metadata)
        with refit(self) as model:
            model.best_estimator_ = fitted
            model.best_score_ = value
            model.best_index_ = best.number
            model.best_params_ = best.params
            model.members_ = np.array([one.number for one in members], dtype=np.int64)
            model.cv_results_ = table_of_results(tried)
            model._trained_queries = KnownQueries.of(rows.data)
        return self

    def predict(self, X: MatrixLike) -> FloatArray:
        """Score documents by the model; scores are comparable within a query.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_documents, n_features)
            Input of the ranker.

        Returns
        -------
        scores : ndarray of shape (n_documents,), float64
            What ``best_estimator_`` predicts; higher is ranked first.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError, TypeError
            For what the ranker refuses, or scores that are not finite.
        """
        return predict_scores([self._fitted().best_estimator_], X, "best_estimator_")[0]


# --- candidates ---------------------------------------------------------------------


def spaces_of(space: Space) -> Sequence[Mapping[str, Any]]:
    """Return the spaces of a list, or the only one."""
    return [space] if isinstance(space, Mapping) else space


def draw_settings(space: Space, seed: int) -> Iterator[dict[str, Any]]:
    """Yield settings drawn at random; from lists of values, none twice."""
    # the first settings do not depend on how many are drawn
    if has_distributions(space):
        yield from ParameterSampler(space, sys.maxsize, random_state=seed)
        return
    grid = ParameterGrid(space)
    seen: set[int] = set()
    rng = np.random.default_rng(seed)
    while len(seen) < len(grid):
        index = int(rng.integers(len(grid)))
        if index not in seen:
            seen.add(index)
            yield grid[index]


def has_distributions(space: Space) -> bool:
    """Whether a value of a space is a distribution of scipy, not a list of values."""
    spaces = spaces_of(space)
    return any(hasattr(values, "rvs") for one in spaces for values in one.values())


def all_candidates(
    p: SearchParameters, seed: int
) -> Iterator[tuple[dict[str, Any], BaseEstimator]]:
    """Yield settings and rankers: defaults, then those drawn; never two the same."""

    def seeded(candidate: BaseEstimator, number: int) -> BaseEstimator:
        rng = np.random.default_rng([seed, number])
        return with_seeds(candidate, rng, only_unset=True)

    ranker = p.ranker
    if ranker is None:
        ranker = LambdaMARTRanker(metric=p.metric)
    yield {}, seeded(ranker, 0)
    number = 1
    if p.ranker is None:
        _, network = make_rankers(p.metric)
        yield NETWORK.copy(), seeded(network, number)
        number += 1
    space = p.read_space()
    names = {name for one in spaces_of(space) for name in one}
    defaults = ranker.get_params()
    tried, n_repeats = [{name: defaults[name] for name in names}], 0
    for params in draw_settings(space, seed):
        values = tried[0] | params
        for name, value in values.items():
            if isinstance(value, np.generic):  # drawn from a distribution
                values[name] = value.item()
        n_repeats += 1
        if n_repeats > MOST_REPEATS:
            return
        if any(are_equal(values, others) for others in tried):
            continue
        tried.append(values)
        n_repeats = 0
        candidate = clone(ranker).set_params(**clone(params, safe=False))
        yield params, seeded(candidate, number)
        number += 1


def are_equal(values: Mapping[str, Any], others: Mapping[str, Any]) -> bool:
    """Whether two settings have the same values of the same types."""
    pairs = [(value, others[name]) for name, value in values.items()]
    return all(
        one is other or (type(one) is type(other) and np.array_equal(one, other))
        for one, other in pairs
    )


def try_candidates(
    p: SearchParameters, rows: FitRows, splits: list[Split], start: float
) -> list[Candidate]:
    """Return the candidates that ended in time; the first one always does."""
    tried: list[Candidate] = []
    metric = get_metric(p.metric)
    of_all = "" if p.n_iter is None else f" of {p.n_iter}"
    seed = draw_seed(p.random_state)
    trials = Trials(p, rows, splits, start, seed)
    try:
        for number, (params, ranker) in enumerate(all_candidates(p, seed)):
            if number == p.n_iter:
                break
            try:
                one = trials.fit(number, params, ranker, tried)
            except Exception as error:
                error.add_note(f"of candidate {number}, with the settings {params}")
                raise
            if one is None:  # it would not end in time
                break
            tried.append(one)
            best = finished(tried)[0]
            # no blend is chosen from the others, whose scores are dropped
            kept = {one.number for one in finished(tried)[:MOST_SCORES_KEPT]}
            tried = [
                one if one.number in kept else one._replace(scores=None, shares=[])
                for one in tried
            ]
            if p.verbose > 1 or (p.verbose == 1 and best.number == number):
                value = "stopped" if one.is_stopped else f"{one.value:.4f}"
                ONE_PROCESS.print_line(
                    f"candidate {number}{of_all}: {metric.name} {value} (best "
                    f"{best.value:.4f} at {best.number}), {one.elapsed:.1f} s, {params}"
                )
    except KeyboardInterrupt:
        if not tried:
            raise
        ONE_PROCESS.print_line(
            f"interrupted after {count_candidates(tried)}: fitting the best so far to "
            "all queries; interrupt again to end without a model"
        )
    return tried


def count_candidates(tried: list[Candidate]) -> str:
    """Return the number of candidates in words."""
    return "1 candidate" if len(tried) == 1 else f"{len(tried)} candidates"


def finished(tried: list[Candidate]) -> list[Candidate]:
    """Return the candidates that were not stopped, the best first."""
    done = [candidate for candidate in tried if not candidate.is_stopped]
    return sorted(done, key=lambda candidate: -candidate.value)


class Trials:
    """The fits of candidates, fold after fold, with one table of bins if they can."""

    def __init__(
        self,
        p: SearchParameters,
        rows: FitRows,
        splits: list[Split],
        start: float,
        seed: int,
    ) -> None:
        self._p, self._rows, self._splits = p, rows, splits
        self._start, self._seed = start, seed
        fold_of_query = np.full(rows.queries.n_queries, -1)  # -1: never held out
        for fold, (_, held_out) in enumerate(splits):
            fold_of_query[rows.queries.query_of_row[held_out]] = fold
        metric = get_metric(p.metric)
        selections = [fold_of_query == fold for fold in range(len(splits))]
        *self._folds, self._all = (
            MeasuredQueries.of(rows.data.subset(selected), metric)
            for selected in (*selections, fold_of_query >= 0)
        )
        # where rows are never held out, as the earliest of folds that go forward in
        # time, a fold must not see the columns of rows that it neither learns nor tests
        n_tested = sum(len(test) for _, test in splits)
        self._bins_by_fold = n_tested < rows.queries.n_documents
        self._table: tuple[str, FitRows] = "", rows

    def _ends_in_time(self, more: float, tried: list[Candidate], own: float) -> bool:
        """Whether more seconds of fits, and then the fit to all rows, end in time."""
        # the model may be of those tried, and one that takes `own` seconds
        if self._p.time is None or not tried:
            return True
        n_members = MOST_MEMBERS if self._p.blend else 1
        seconds = sorted([own, *(one.seconds for one in finished(tried))])[-n_members:]
        # a candidate is fitted to all rows but those of a fold, as often as there are
        to_all_rows = sum(seconds) / max(1, len(self._splits) - 1)
        return perf_counter() - self._start + more + to_all_rows <= self._p.time

    def fit(
        self,
        number: int,
        params: dict[str, Any],
        ranker: BaseEstimator,
        tried: list[Candidate],
    ) -> Candidate | None:
        """Return a candidate, stopped if it is behind; None if time is too short."""
        of_folds = [one.seconds / len(one.fold_values) for one in tried[-N_RECENT:]]
        if not self._ends_in_time(max(of_folds, default=0.0), tried, 0.0):
            return None
        begin, scores = perf_counter(), np.zeros(self._rows.queries.n_documents)
        # the network is another kind of model, of use to a blend if it is behind, too
        rivals = [one for one in finished(tried) if one.params != NETWORK]
        leader = rivals[0] if rivals and params != NETWORK else None
        values: list[float] = []
        shares: list[FloatArray] = []
        n_folds, is_stopped = len(self._splits), False
        for n_done in self._fit_folds(ranker, scores):
            while len(values) < n_done and not is_stopped:
                queries = self._folds[len(values)]
                values.append(queries.value(scores))
                shares.append(queries.shares(scores))
                if leader is not None and len(values) < n_folds:
                    is_stopped = is_behind(shares, leader.shares)
            if is_stopped or n_done == n_folds:
                break
            of_fold = (perf_counter() - begin) / n_done
            more = of_fold * (n_folds - n_done)
            if not self._ends_in_time(more, tried, of_fold * n_folds):
                return None
        value = float("nan") if is_stopped else self._all.value(scores)
        end = perf_counter()
        own, times = (scores, value, values), (end - begin, end - self._start)
        return Candidate(number, params, ranker, *own, shares, is_stopped, *times)

    def _fit_folds(self, ranker: BaseEstimator, scores: FloatArray) -> Iterator[int]:
        """Set the scores of held-out rows; yield how many folds are fitted so far."""
        n_jobs = self._p.n_jobs
        n_at_once = joblib.effective_n_jobs(n_jobs)
        routing = partial(sklearn.config_context, enable_metadata_routing=True)
        # a chosen candidate gives its warnings again, when the model is fitted
        with routing(), collected_warnings():
            model = clone(ranker)
            taken = requested_metadata(model, self._rows.metadata)
            check_taken(self._rows, [taken])
            rows = self._with_bins(model, taken)
        for first in range(0, len(self._splits), n_at_once):
            splits = self._splits[first : first + n_at_once]
            with routing(), collected_warnings():
                found = out_of_fold(model, rows, taken, splits, n_jobs)
            held_out = np.sort(np.concatenate([test for _, test in splits]))
            named = len(held_out), "scores of the ranker"
            scores[held_out] = check_base_scores(found, *named)
            yield first + len(splits)

    def _with_bins(self, ranker: BaseEstimator, taken: Mapping[str, Any]) -> FitRows:
        """Return the rows, with known bins if the ranker can share them."""
        if self._bins_by_fold or type(ranker) is not LambdaMARTRanker:
            return self._rows
        key = joblib.hash((ranker.max_bins, ranker.categorical_features))
        if key != self._table[0]:
            # all learn from other queries than those of a fold, and may hold out some
            options = {"learn_all": False, "hold_out": True}
            rows = with_known_bins(ranker, self._rows, taken, self._seed, **options)
            self._table = key, rows
        return self._table[1]


class MeasuredQueries(NamedTuple):
    """Queries that candidates are compared on."""

    data: TrainingData
    labels: list[BoundLabel]  # empty if a label that counts has judged none of them

    @classmethod
    def of(cls, data: TrainingData, metric: Metric) -> Self:
        """Bind the metric to grades."""
        # a splitter may cut the queries of a fold apart, so that it has none of its own
        is_judged = (~np.isnan(data.grades.counted)).any(axis=1).all()
        return cls(data, bind_labels(metric, data) if is_judged else [])

    def value(self, scores: FloatArray) -> float:
        """Return the metric, given the scores of all rows; NaN if none is judged."""
        if not self.labels:
            return float("nan")
        return mean_of_bound(self.labels, scores[self.data.rows])

    def shares(self, scores: FloatArray) -> FloatArray:
        """Return values of the queries, (n_queries,), whose mean is the metric."""
        shares = np.zeros(self.data.n_queries)
        query = self.data.query
        for one in self.labels:
            values = one.bound.values(scores[self.data.rows][one.rows])
            weights, _ = rescale(np.where(np.isnan(values), 0.0, one.sample_weight))
            weights = one.weight * weights / weights.sum()
            shares[np.unique(query[one.rows])] += weights * np.nan_to_num(values)
        return shares * len(shares)


def is_behind(shares: list[FloatArray], others: list[FloatArray]) -> bool:
    """Whether a candidate is behind on the queries of its folds so far."""
    difference = np.concatenate(shares) - np.concatenate(others[: len(shares)])
    if len(difference) < 2:
        return False
    return bool(difference.mean() < -BEHIND * sem(difference))


# --- the model ----------------------------------------------------------------------


def choose_members(
    ranked: list[Candidate],
    rows: FitRows,
    splits: list[Split],
    metric: Metric,
) -> tuple[list[Candidate], float]:
    """Return the candidates of the best blend, and its metric; one if none is better.

    `ranked` are candidates, the best first.
    """
    tested = np.sort(np.concatenate([test for _, test in splits]))
    known = [candidate for candidate in ranked if candidate.scores is not None]
    known = known[:MOST_SCORES_KEPT]
    held_out = HeldOut.sort(
        rows,
        [one.scores[tested] for one in known if one.scores is not None],
        [f"candidate {candidate.number}" for candidate in known],
        splits,
    )
    weights = equal_weights(held_out.scores, held_out.query)
    pairs = zip(weights, held_out.scores, strict=True)
    scaled = [weight * scores for weight, scores in pairs]
    labels = bind_labels(metric, held_out.data)
    chosen, total, best = [0], scaled[0], known[0].value
    while len(chosen) < min(MOST_MEMBERS, len(known)):
        others = [m for m in range(len(known)) if m not in chosen]
        values = [mean_of_bound(labels, total + scaled[m]) for m in others]
        if max(values) <= best:
            break
        best = max(values)
        chosen.append(others[values.index(best)])
        total = total + scaled[chosen[-1]]
    return [known[m] for m in chosen], best


def table_of_results(tried: list[Candidate]) -> dict[str, Any]:
    """Return what `cv_results_` holds."""
    params = [candidate.params for candidate in tried]
    results: dict[str, Any] = {"params": params}
    folds = zip_longest(*(one.fold_values for one in tried), fillvalue=np.nan)
    for fold, of_fold in enumerate(folds):
        results[f"split{fold}_test_score"] = np.array(of_fold)
    values = np.array([candidate.value for candidate in tried])
    ranks: IntArray = rankdata(-np.nan_to_num(values, nan=-np.inf), method="min")
    results["mean_test_score"] = values
    results["rank_test_score"] = ranks.astype(np.int32)
    results["stopped"] = np.array([candidate.is_stopped for candidate in tried])
    results["elapsed_time"] = np.array([candidate.elapsed for candidate in tried])
    return results
