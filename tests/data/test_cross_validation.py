"""A warning where cross-validation cuts queries apart, and nowhere else."""

from __future__ import annotations

import pickle
import warnings
from functools import partial
from itertools import chain, product

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    PredefinedSplit,
    RepeatedKFold,
    ShuffleSplit,
    TimeSeriesSplit,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_ltr import (
    LambdaMARTRanker,
    LambdaRankRanker,
    RankNetRanker,
    SplitQueriesWarning,
)
from sklearn_ltr._core.data import TrainingData
from sklearn_ltr._core.data.cross_validation import (
    KnownQueries,
    evaluations_of,
    warn_if_cut,
)
from sklearn_ltr._core.data.labels import LabelGrades
from sklearn_ltr.calibration import CalibratedRanker
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.ensemble import BaggingRanker, BlendedRanker
from sklearn_ltr.model_selection import RankerSearch
from sklearn_ltr.scorers import make_ranking_scorer
from tests import files_named

RELEASE = tuple(map(int, sklearn.__version__.split(".")[:2]))
DATA = make_ranking(20, n_documents=8, n_features=4, n_informative=2, random_state=0)
X, Y, GROUPS = DATA.data, DATA.target, DATA.groups
NAMES = np.array([f"query {q}" for q in GROUPS])
SCORER = make_ranking_scorer("ndcg@5")
CUTS = KFold(4, shuffle=True, random_state=0)
WHOLE = GroupKFold(3)
pytestmark = pytest.mark.usefixtures("routing")


@pytest.fixture(autouse=True)
def no_evaluations():
    """Each test is a process that has evaluated nothing."""
    evaluations_of.cache_clear()


def trees():
    return LambdaMARTRanker(n_estimators=2, min_samples_leaf=5, random_state=0)


def network(ranker=LambdaRankRanker, **options):
    return ranker(hidden_layer_sizes=(), max_iter=1, random_state=0, **options)


PIPELINE = make_pipeline(StandardScaler(), network())


def validate(model, cv, **options):
    given = {"scoring": SCORER, "params": {"groups": GROUPS}} | options
    return cross_validate(model, X, Y, cv=cv, return_train_score=True, **given)


def search(model, cv):
    grid = {"random_state": [0, 1]} if model is PIPELINE[-1] else {}
    found = GridSearchCV(model, grid, cv=cv, scoring=SCORER, error_score="raise")
    return found.fit(X, Y, groups=GROUPS)


CALLS = {
    "trees": partial(validate, trees(), params={"groups": NAMES}),
    "LambdaRank": partial(validate, network()),
    "RankNet": partial(validate, network(RankNetRanker)),
    "pipeline": partial(validate, PIPELINE),
    "bagging": partial(
        validate, BaggingRanker(trees(), n_estimators=2, random_state=0)
    ),
    "blend": partial(validate, BlendedRanker([trees(), network()], method="equal")),
    "calibrated": partial(validate, CalibratedRanker(trees(), cv=2)),
    "searched": partial(validate, RankerSearch(trees(), n_iter=1, cv=2)),
    "search": partial(
        validate, GridSearchCV(trees(), {}, scoring=SCORER, cv=GroupKFold(2))
    ),
    "score of the ranker": partial(validate, trees(), scoring=None),
    "several metrics": partial(
        validate, trees(), scoring={"a": SCORER, "b": make_ranking_scorer("map")}
    ),
    "in a search": partial(search, PIPELINE[-1]),
    "a pipeline in a search": partial(search, PIPELINE),
    "learning_curve": lambda cv: learning_curve(
        trees(), X, Y, cv=cv, scoring=SCORER, train_sizes=[0.7, 1.0],
        params={"groups": GROUPS},
    ),
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_cross_validation_warns_if_the_splitter_cuts_queries(call):
    with pytest.warns(SplitQueriesWarning, match="cv=GroupKFold"):
        call(CUTS)
    call(WHOLE)  # warnings are errors


def test_one_cut_query_is_enough():
    parts = GROUPS % 3
    parts[:2] = 1, 2  # of query 0, whose other rows are in part 0
    found = "1 of [78] scored queries, such as query 0, have other"
    with pytest.warns(SplitQueriesWarning, match=found):
        cross_val_score(
            trees(), X, Y, cv=PredefinedSplit(parts), params={"groups": GROUPS}
        )


def score_by_hand(cv):
    for train, test in cv.split(X, Y, GROUPS if cv is WHOLE else None):
        model = trees().fit(X[train], Y[train], groups=GROUPS[train])
        model.score(X[test], Y[test], groups=GROUPS[test])


@pytest.mark.parametrize(
    "cv",
    [
        KFold(3),  # of sorted rows: two queries are cut
        ShuffleSplit(2, test_size=0.2, random_state=0),
        RepeatedKFold(n_splits=2, n_repeats=2, random_state=0),
        PredefinedSplit(np.arange(len(X)) % 4),  # all parts of a query have two rows
        KFold(80),
    ],
)
def test_splitters_that_cut_are_told_of_in_loops_of_the_user_too(cv):
    with pytest.warns(SplitQueriesWarning) as told:
        score_by_hand(cv)
    assert set(files_named(told, __file__)) == {__file__}


@pytest.mark.parametrize(
    "cv",
    [
        ShuffleSplit(1, random_state=0),  # one split
        KFold(2, shuffle=True, random_state=0),  # two files may change places
        TimeSeriesSplit(3),  # each split has other rows
        ShuffleSplit(5, test_size=0.2, train_size=0.5, random_state=0),
    ],
)
def test_what_two_evaluations_do_not_prove_is_not_told(cv):
    """The page on tuning says so."""
    score_by_hand(cv)


def test_whole_folds_of_a_table_that_was_cut_before_are_not_told_of():
    for cv, told in ((CUTS, True), (WHOLE, False), (CUTS, True)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            score_by_hand(cv)
        assert (len(caught) > 0) == told


def test_the_ids_of_other_data_may_be_the_same():
    """Equal ids in two files may be of two queries."""
    other = make_ranking(12, n_features=4, n_informative=2, random_state=1)
    search = GridSearchCV(trees(), {}, scoring=SCORER, cv=WHOLE)
    for model in (trees(), search, trees().set_params(n_estimators=1)):
        model.fit(X, Y, groups=GROUPS)
        assert model.score(other.data, other.target, groups=other.groups) > 0
        assert SCORER(model, other.data, other.target, groups=other.groups) > 0
        assert model.score(X, Y, groups=GROUPS) > 0
        model.fit(other.data, other.target, groups=other.groups)
        assert model.score(X, Y, groups=GROUPS) > 0


# Lists of a file: their grades, drawn anew for each
FILES = {
    "lists of all lengths": lambda rng: rng.integers(0, 3, rng.integers(1, 9)),
    "short lists of clicks": lambda rng: rng.random(rng.integers(1, 4)) < 0.3,
    "ten documents, few clicks": lambda rng: rng.random(10) < 0.05,
    "ten documents, one relevant": lambda rng: np.eye(10)[rng.integers(10)],
    "nine or ten documents, one relevant": lambda rng: np.eye(10)[0][rng.integers(2) :],
}


def numbered(lists):
    """The queries of a file, whose ids begin at 0."""
    grades = np.concatenate(lists).astype(np.float64)
    offsets = np.cumsum([0, *map(len, lists)])
    ids = np.arange(len(lists))
    return TrainingData(LabelGrades.of_one(grades), offsets, ids)


def evaluate(trained, scored):
    """Warn of what a model that was fitted to a file does when it scores another."""
    ranker = trees()
    ranker._trained_queries = KnownQueries.of(numbered(trained))
    warn_if_cut(ranker, numbered(scored))


@pytest.mark.parametrize("draw", FILES.values(), ids=FILES)
@pytest.mark.parametrize("seed", range(30))
def test_files_that_are_numbered_alike_are_not_told_of(draw, seed):
    rng = np.random.default_rng(seed)
    same = seed % 2 == 0  # whether all have the same number of lists
    files = [
        [draw(rng) for _ in range(25 if same else rng.integers(20, 30))]
        for _ in range(5)
    ]
    for one, other in product(files, repeat=2):  # all pairs, and files themselves
        evaluate(one, other)
    for k, held_out in enumerate(files):  # folds of files, numbered anew
        others = [own for i, own in enumerate(files) if i != k]
        evaluate(list(chain(*others)), held_out)
        evaluate(held_out, list(chain(*others)))
        evaluate(list(chain(*files)), held_out)
        evaluate(list(chain(*files[:k], held_out)), files[k - 1])
    one, other = files[:2]
    for k in range(2, 20):  # parts of two files, and parts that change places
        evaluate(one[:k], other[:k])
        evaluate(one[:k] + other[k:], other[:k] + one[k:])
        evaluate(one[k:], one[:k])
    for k in range(1, 8):  # lists that are cut off, here and there
        evaluate([own[:k] for own in one], [own[: 9 - k] for own in other])
        evaluate([own[:k] for own in one], [own[: 9 - k] for own in one])


def test_lists_of_another_length_here_and_there_are_not_told_of():
    for n_train in range(1, 20):  # lists of 20 documents, one relevant in each file
        parts = np.eye(n_train)[0], np.eye(20 - n_train)[0]
        evaluate(*([part] * 50 for part in parts))


class ScoresOnOtherData(BaseEstimator):
    """An estimator that scores a ranker on data of its own while it is scored."""

    __metadata_request__fit = {"groups": True}
    __metadata_request__score = {"groups": True}

    def fit(self, X, y, groups):
        self.ranker_ = trees().fit(X, y, groups=groups)
        return self

    def score(self, X, y, groups):
        other = make_ranking(30, n_features=4, n_informative=2, random_state=1)
        return self.ranker_.score(other.data, other.target, groups=other.groups)


def test_inside_the_loops_other_code_may_score_other_data():
    cross_val_score(ScoresOnOtherData(), X, Y, cv=WHOLE, params={"groups": GROUPS})
    # other models have no queries
    cross_val_score(Ridge(), X, Y, cv=CUTS, scoring=SCORER, params={"groups": GROUPS})


def test_models_fitted_before_the_loop_know_no_queries_of_it():
    fitted = trees().fit(X[:80], Y[:80], groups=GROUPS[:80])
    cross_val_predict(trees(), X, Y, cv=CUTS, params={"groups": GROUPS})
    loaded = FrozenEstimator(pickle.loads(pickle.dumps(fitted)))
    assert SCORER(loaded, X, Y, groups=GROUPS) > 0


@pytest.mark.skipif(RELEASE < (1, 9), reason="older ones pass all groups to each call")
def test_partial_fits_are_not_checked():
    """Their training data came in several calls."""
    learning_curve(
        network(), X, Y, cv=WHOLE, scoring=SCORER, exploit_incremental_learning=True,
        params={"groups": GROUPS},
    )  # fmt: skip


def test_the_queries_of_the_fit_are_neither_saved_nor_copied():
    model = trees().fit(X, Y, groups=NAMES)
    assert b"query 0" not in pickle.dumps(model)
    assert pickle.loads(pickle.dumps(model))._trained_queries is None
    assert clone(model)._trained_queries is None
