"""What our ranker and those of other libraries can do: each feature is tried.

    python -m benchmarks.studies.what_works_where --json RESULTS
    python -m benchmarks.tables --write

A feature is a probe, a function of a library that raises an error where the library
lacks the feature. Where it does, and another way is known, that way is tried and named.
The first line of the error is stored, so that it can be seen why a cell says "no".
"""

from __future__ import annotations

import importlib
import json
import pickle
import re
import tempfile
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    cross_val_predict,
    cross_validate,
)
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from benchmarks.speed import spark_and_ray as clusters
from benchmarks.tools import peers
from benchmarks.tools.queries import Part, made
from benchmarks.tools.records import append_json, machine, parser_of
from sklearn_ltr import calibration, inspection
from sklearn_ltr.export import from_lightgbm, to_json, to_onnx, to_xgboost
from sklearn_ltr.metrics import NDCG, Metric, get_metric
from sklearn_ltr.scorers import make_ranking_scorer


def draw(n_queries: int, n_documents: int, seed: int) -> Part:
    """Make sorted queries with integer grades 0 to 4, which every library accepts."""
    return made(
        n_queries, n_documents=n_documents, n_features=5, n_informative=4,
        n_query_features=1, random_state=seed,
    )  # fmt: skip


DATA = draw(60, 12, seed=0)
SMALL = peers.Settings(n_estimators=5)
FRAME = pd.DataFrame(DATA.X, columns=list("abcde"))
BINARY = DATA._replace(y=(DATA.y > 1).astype(int))
POSITIONS = np.arange(len(DATA.y)) - np.searchsorted(DATA.groups, DATA.groups)


@dataclass(frozen=True, eq=False)
class Library:
    """A library, its class for scikit-learn, and the argument of `fit` for queries."""

    name: str
    module: str
    ranker: str
    queries: str
    parameters: Mapping[str, str]  # its names of parameters, by our name
    settings: Mapping[str, Any]  # that make a fit small, quiet and repeatable
    convert: Callable[[np.ndarray], Any] = np.asarray  # sorted ids to its format

    @property
    def package(self) -> Any:
        return importlib.import_module(self.module)

    def one_of(self, other: Any = None, **by_name: Any) -> Any:
        """Return what is given for this library, otherwise `other`."""
        return by_name.get(self.name, other)

    def new(self, **options: Any) -> Any:
        """Return a small ranker; options have our names, or its own."""
        ours = {"n_estimators": 5, "n_jobs": 1, "random_state": 0} | options
        named = {self.parameters.get(k, k): v for k, v in ours.items()}
        return getattr(self.package, self.ranker)(**self.settings, **named)

    def given(self, groups) -> dict[str, Any]:
        return {self.queries: self.convert(groups)}

    def fit(self, data: Part = DATA, given: Mapping[str, Any] = {}, **options) -> Any:  # noqa: B006
        queries = self.given(data.groups)
        return self.new(**options).fit(data.X, data.y, **queries, **given)

    def scores(self, data: Part = DATA, X=None, **options: Any) -> np.ndarray:
        """Fit, and return the scores of X, by default of the data."""
        X = data.X if X is None else X
        return np.asarray(self.fit(data, **options).predict(X))


LIBRARIES = [
    Library(
        "sklearn_ltr", "sklearn_ltr", "LambdaMARTRanker", "groups",
        {"tree_size": "max_leaf_nodes"}, {"min_samples_leaf": 5},
    ),
    Library(
        "LightGBM", "lightgbm", "LGBMRanker", "group",
        {"tree_size": "num_leaves"}, {"min_child_samples": 5, "verbosity": -1},
        peers.query_sizes,
    ),
    Library("XGBoost", "xgboost", "XGBRanker", "qid", {"tree_size": "max_leaves"}, {}),
    Library(
        "CatBoost", "catboost", "CatBoostRanker", "group_id",
        {
            "tree_size": "depth", "n_estimators": "iterations",
            "n_jobs": "thread_count", "random_state": "random_seed",
        },
        # its bootstrap raises an error for very small data
        {"bootstrap_type": "No", "verbose": False, "allow_writing_files": False},
    ),
]  # fmt: skip
Probe = Callable[[Library], Any]
FEATURES: dict[str, Probe] = {}
WAYS: dict[tuple[str, str], tuple[str, Probe]] = {}


def feature(name: str) -> Callable[[Probe], Probe]:
    """Make the decorated probe a row of the table."""
    return lambda probe: FEATURES.setdefault(name, probe)


def way(probe: Probe, library: str, cell: str) -> Callable[[Probe], Probe]:
    """Make the decorated probe what a library is tried with after a "no"."""
    name = next(name for name, known in FEATURES.items() if known is probe)
    return lambda other: WAYS.setdefault((name, library), (cell, other))[1]


def must(what: bool) -> None:
    if not what:
        raise AssertionError("not so")


def same(actual, expected) -> None:
    """Check that scores are equal, except for the last bits of float32."""
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)


def must_raise(pattern: str, call: Callable[..., object], *given, **options) -> None:
    try:
        call(*given, **options)
    except Exception as error:
        if not re.search(pattern, str(error)):
            raise
        return
    raise AssertionError("no error")


# --- queries and grades -----------------------------------------------------------


@feature("one query id per row")
def ids(library):
    fitted = library.new().fit(DATA.X, DATA.y, **{library.queries: DATA.groups})
    same(fitted.predict(DATA.X), library.scores())


@feature("query ids that are strings")
def strings(library):
    names = np.array([f"q{i:02d}" for i in DATA.groups])
    fitted = library.new().fit(DATA.X, DATA.y, **{library.queries: names})
    same(fitted.predict(DATA.X), library.scores())


@feature("rows of a query need not be consecutive")
def interleaved(library):
    mixed = DATA.subset(np.random.default_rng(0).permutation(len(DATA.y)))
    fitted = library.new().fit(mixed.X, mixed.y, **{library.queries: mixed.groups})
    same(fitted.predict(DATA.X), library.scores())


@feature("`fit` of more than 200 rows without queries raises an error")
def fit_without_queries(library):
    must_raise("group", library.new().fit, DATA.X, DATA.y)


@feature("`score` of more than 200 rows without queries raises an error")
def score_without_queries(library):
    must_raise("group|qid", library.fit().score, DATA.X, DATA.y)


@way(score_without_queries, "LightGBM", "has no `score`")
def there_is_no_score(library):
    must(not hasattr(library.fit(), "score"))


def learns(library, y, **options) -> None:
    """Check that a few trees learn the order by a feature equal to the grades."""
    scores = library.scores(Part(y[:, np.newaxis], y, DATA.groups), **options)
    of_ties, reached = (
        NDCG(5)(y, values, groups=DATA.groups) for values in (np.zeros(len(y)), scores)
    )
    must(reached > (1 + of_ties) / 2)


REAL = np.random.default_rng(0).uniform(0, 4, len(DATA.y))
HIGH = np.floor(10 * REAL)
real_grades = feature("real-valued grades")(partial(learns, y=REAL))
high_grades = feature("grades above 31")(partial(learns, y=HIGH))
for probe, grades in (real_grades, REAL), (high_grades, HIGH):
    linear = partial(learns, y=grades, ndcg_exp_gain=False)
    way(probe, "XGBoost", "with `ndcg_exp_gain=False`")(linear)
gains = partial(learns, y=HIGH, label_gain=list(range(41)))
way(high_grades, "LightGBM", "with `label_gain`")(gains)


@feature("reports the NDCG of trec_eval")
def ndcg_of_trec_eval(library):
    """The scores are what the evaluation starts from, and no tree is added to them."""
    pytrec_eval = importlib.import_module("pytrec_eval")
    order = np.random.default_rng(0).permutation(len(DATA.y)) / 8.0
    judged, run = {}, {}
    for i, (group, grade, score) in enumerate(
        zip(DATA.groups.astype(str), DATA.y.astype(int), order, strict=True)
    ):
        judged.setdefault(group, {})[str(i)] = int(grade)
        run.setdefault(group, {})[str(i)] = float(score)
    found = pytrec_eval.RelevanceEvaluator(judged, {"ndcg_cut.5"}).evaluate(run)
    expected = np.mean([of_query["ndcg_cut_5"] for of_query in found.values()])
    zeros, sizes = np.zeros((len(DATA.y), 1)), peers.query_sizes(DATA.groups)
    if library.name == "LightGBM":
        quiet = {"verbose": -1, "feature_pre_filter": False}
        of_library = library.package
        data = of_library.Dataset(
            zeros, DATA.y, group=sizes, init_score=order, params=quiet
        )
        printed: dict = {}
        of_library.train(
            {"objective": "lambdarank", "metric": "ndcg", "eval_at": 5,
             "label_gain": list(range(31))} | quiet,
            data, 1, [data], ["data"],
            callbacks=[of_library.record_evaluation(printed)],
        )  # fmt: skip
        value = printed["data"]["ndcg@5"][0]
    elif library.name == "XGBoost":
        data = library.package.DMatrix(zeros, DATA.y, group=sizes, base_margin=order)
        options = {"objective": "rank:ndcg", "eval_metric": "ndcg@5-"}
        options["ndcg_exp_gain"] = False
        printed = library.package.train(options, data, num_boost_round=0).eval(data)
        value = float(printed.rpartition(":")[2])
    elif library.name == "CatBoost":
        evaluate = importlib.import_module("catboost.utils").eval_metric
        (value,) = evaluate(DATA.y, order, "NDCG:top=5;type=Base", group_id=DATA.groups)
    else:
        value = NDCG(5, gain="linear")(DATA.y, order, groups=DATA.groups)
    np.testing.assert_allclose(value, expected, rtol=1e-7)


# --- scikit-learn -----------------------------------------------------------------

FOLDS = GroupKFold(3)
TREE_SIZES = (2, 6)
SCORER = make_ranking_scorer("ndcg@5")
ROUTED = {"groups": DATA.groups}


@cache
def by_hand(library: Library, tree_size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return NDCG@5 of each fold and the predictions of all rows, from plain loops."""
    values, predictions = [], np.empty(len(DATA.y))
    for train, test in FOLDS.split(*DATA):
        scaler = StandardScaler().fit(DATA.X[train])
        X, X_test = scaler.transform(DATA.X[train]), scaler.transform(DATA.X[test])
        data = Part(X, DATA.y[train], DATA.groups[train])
        predictions[test] = library.scores(data, X_test, tree_size=tree_size)
        values.append(
            NDCG(5)(DATA.y[test], predictions[test], groups=DATA.groups[test])
        )
    return np.array(values), predictions


def check_against_loops(library: Library, ranker, scoring, X=DATA.X, **given) -> None:
    """Check that a search and a cross-validation give the results of plain loops."""
    of_size = f"rank__{library.parameters['tree_size']}"
    pipeline = Pipeline([("scale", StandardScaler()), ("rank", ranker)])
    search = GridSearchCV(
        pipeline, {of_size: TREE_SIZES}, scoring=scoring, cv=FOLDS, error_score="raise"
    ).fit(X, DATA.y, groups=DATA.groups, **given)
    loops = [by_hand(library, size) for size in TREE_SIZES]
    same(search.cv_results_["mean_test_score"], [values.mean() for values, _ in loops])
    values, predictions = loops[-1]
    how = {"cv": FOLDS, "params": given or ROUTED}
    if given:  # without metadata routing the splitter takes the groups like this
        how["groups"] = DATA.groups
    last = clone(pipeline).set_params(**{of_size: TREE_SIZES[-1]})
    same(cross_validate(last, X, DATA.y, scoring=scoring, **how)["test_score"], values)
    same(cross_val_predict(last, X, DATA.y, **how), predictions)


@feature(
    "`GridSearchCV` of a `Pipeline`, `cross_val_predict`: whole queries, NDCG of each"
)
def searches(library):
    with sklearn.config_context(enable_metadata_routing=True):
        ranker = library.new()
        if library.name != peers.OURS and hasattr(ranker, "set_fit_request"):
            ranker.set_fit_request(**{library.queries: "groups"})
        check_against_loops(library, ranker, SCORER)


@way(searches, "LightGBM", "with a subclass")
def searches_with_a_subclass(library):
    class RankerOfIds(library.package.LGBMRanker):
        def fit(self, X, y, groups=None):
            return super().fit(X, y, group=peers.query_sizes(groups))

    with sklearn.config_context(enable_metadata_routing=True):
        ranker = RankerOfIds(**library.new().get_params()).set_fit_request(groups=True)
        check_against_loops(library, ranker, SCORER)


@way(searches, "CatBoost", "with the ids also as the index of X")
def searches_by_the_index(library):
    """Without metadata routing: scikit-learn splits `group_id` into folds for `fit`."""
    check_against_loops(
        library, library.new(),
        lambda ranker, X, y: NDCG(5)(y, ranker.predict(X), groups=X.index),
        pd.DataFrame(DATA.X, index=DATA.groups), rank__group_id=DATA.groups,
    )  # fmt: skip


@feature("metadata routing without `set_fit_request`")
def nothing_to_request(library):
    with sklearn.config_context(enable_metadata_routing=True):
        cross_validate(
            library.new(), DATA.X, DATA.y, scoring=SCORER, cv=FOLDS, params=ROUTED,
            error_score="raise",
        )  # fmt: skip


@feature("`score` is a ranking metric")
def score(library):
    fitted = library.fit()
    value = fitted.score(DATA.X, DATA.y, **{library.queries: DATA.groups})
    metric = library.one_of(
        NDCG(gain="linear", no_relevant="one"), sklearn_ltr=NDCG(10)
    )
    same(value, metric(DATA.y, fitted.predict(DATA.X), groups=DATA.groups))


@way(score, "XGBoost", "with a `qid` column in X")
def score_of_a_column(library):
    frame = FRAME.assign(qid=DATA.groups)
    fitted = library.new(eval_metric="ndcg@5").fit(frame, DATA.y)
    metric = NDCG(5, no_relevant="one")
    expected = metric(DATA.y, fitted.predict(frame), groups=DATA.groups)
    same(fitted.score(frame, DATA.y), expected)


@feature("`check_estimator` passes, except for weights of single documents")
def scikit_learns_checks(library):
    of_weights = ("s_not_overwritten", "_equivalence_on_dense_data",
                  "_equivalence_on_sparse_data")  # fmt: skip
    expected = {
        f"check_sample_weight{name}": "a mean over queries" for name in of_weights
    }
    results = check_estimator(
        library.new(), expected_failed_checks=expected, on_fail=None
    )
    failed = [r["check_name"] for r in results if r["status"] == "failed"]
    if failed:
        raise AssertionError(f"{len(failed)} checks fail")


@feature("`predict` raises an error for renamed columns")
def renamed_columns(library, **options):
    fitted = library.fit(DATA._replace(X=FRAME))
    renamed = FRAME.set_axis(list("vwxyz"), axis="columns")
    must_raise("feature|found 'v'", fitted.predict, renamed, **options)


way(renamed_columns, "LightGBM", "with `validate_features=True`")(
    partial(renamed_columns, validate_features=True)
)


@feature("sparse X: the model of the same dense X")
def sparse(library):
    holes = np.random.default_rng(0).uniform(size=DATA.X.shape) < 0.5
    dense = DATA._replace(X=np.where(holes, 0.0, DATA.X))
    same(
        library.scores(dense._replace(X=sp.csr_matrix(dense.X))), library.scores(dense)
    )


@feature("missing values; a weight for each query; `clone`, `set_params`, pickle")
def common_features(library):
    # only missing values distinguish the relevant documents
    X = np.where(DATA.y > 1, np.nan, 1.0)[:, np.newaxis]
    scores = library.scores(DATA._replace(X=X))
    must(scores[DATA.y > 1].min() > scores[DATA.y <= 1].max())

    # the grades of queries of weight 0 do not matter
    weight = np.arange(DATA.groups.max() + 1) % 2.0
    of_rows = weight[DATA.groups]
    given = library.one_of(
        {"sample_weight": of_rows},
        XGBoost={"sample_weight": weight}, CatBoost={"group_weight": of_rows},
    )  # fmt: skip
    reversed_ = np.where(of_rows == 0, DATA.y.max() - DATA.y, DATA.y)
    same(
        *(library.fit(DATA._replace(y=y), given).predict(DATA.X)
          for y in (DATA.y, reversed_))
    )  # fmt: skip

    fitted = library.fit()
    scores = fitted.predict(DATA.X)
    same(pickle.loads(pickle.dumps(fitted)).predict(DATA.X), scores)
    copy = clone(fitted)
    must(copy.get_params() == clone(copy).get_params())
    same(copy.fit(DATA.X, DATA.y, **library.given(DATA.groups)).predict(DATA.X), scores)
    size = library.parameters["tree_size"]
    must(clone(copy).set_params(**{size: 3}).get_params()[size] == 3)


# --- training ---------------------------------------------------------------------


def trains_for(library, name: str, **objectives: str) -> None:
    """Check that training for a metric raises it, and is not the default training."""
    key = library.one_of("objective", sklearn_ltr="metric", CatBoost="loss_function")
    scores = library.scores(BINARY, **{key: library.one_of(name, **objectives)})
    must(np.ptp(scores - library.scores(BINARY)) > 1e-3)
    worst, reached, best = (
        get_metric(name)(BINARY.y, s, groups=BINARY.groups)
        for s in (-BINARY.y, scores, BINARY.y)
    )
    must(reached > (worst + best) / 2)


@feature("training for MAP")
def train_for_map(library):
    trains_for(library, "map", XGBoost="rank:map", CatBoost="YetiRank:mode=MAP")


@feature("training for MRR and for ERR")
def train_for_mrr_and_err(library):
    trains_for(library, "mrr", XGBoost="rank:mrr", CatBoost="YetiRank:mode=MRR")
    trains_for(library, "err", XGBoost="rank:err", CatBoost="YetiRank:mode=ERR")


class RootOfTopGrade(Metric):
    """Square root of the first grade of a ranked list."""

    def value(self, ranked_grades):
        return float(np.sqrt(ranked_grades[0]))


def root_of_top_grade(y, scores) -> float:
    return float(np.sqrt(y[np.argmax(scores)]))


@feature("training for a metric of your own, a function of a ranked list")
def train_for_own_metric(library):
    option = library.one_of(
        {"objective": root_of_top_grade},
        sklearn_ltr={"metric": RootOfTopGrade()},
        CatBoost={"loss_function": root_of_top_grade},
    )
    must(np.ptp(library.scores(**option) - library.scores()) > 1e-3)


@way(train_for_own_metric, "LightGBM", "with gradients of your own")
def train_with_own_gradients(library):
    def objective(y, scores, weight, group):
        groups = np.repeat(np.arange(len(group)), group)
        return inspection.compute_lambdas(scores, y, RootOfTopGrade(), groups=groups)

    must(np.ptp(library.scores(objective=objective) - library.scores()) > 1e-3)


def listnet(scores, y, sizes):
    """Return gradient and hessian of the cross entropy of two softmax functions."""
    starts = np.cumsum(sizes) - sizes
    of_scores, of_grades = (
        np.exp(values) / np.repeat(np.add.reduceat(np.exp(values), starts), sizes)
        for values in (scores, np.asarray(y))
    )
    return of_scores - of_grades, of_scores * (1 - of_scores)


class ListNet:
    """The same for CatBoost, whose objectives are not given the queries."""

    def calc_ders_range(self, approxes, targets, weights):
        raise AssertionError("no queries")


@feature("an objective of your own, a function that sees the queries")
def train_for_own_objective(library):
    option = library.one_of(
        {"objective": lambda y, s, w, group: listnet(s, y, group)},
        sklearn_ltr={"objective": lambda s, y, o: listnet(s, y, np.diff(o))},
        CatBoost={"loss_function": ListNet()},
    )
    scores = library.scores(n_estimators=30, **option)
    must(NDCG(10)(DATA.y, scores, groups=DATA.groups) > 0.7)


@feature("a learning rate for each tree, by a function")
def learning_rate_of_each_tree(library):
    rate = lambda m: 0.5 * 0.5**m  # noqa: E731
    option, given = {"learning_rate": rate}, {}
    if library.name == "LightGBM":
        reset = library.package.reset_parameter(learning_rate=rate)
        option, given = {}, {"callbacks": [reset]}
    elif library.name == "XGBoost":
        option = {"callbacks": [library.package.callback.LearningRateScheduler(rate)]}
    falling = library.fit(DATA, given, n_estimators=9, **option)
    constant = library.fit(n_estimators=9, learning_rate=0.5)
    # the rates add up to 1 and to 4.5
    spread = [np.ptp(model.predict(DATA.X)) for model in (falling, constant)]
    must(0 < spread[0] < 0.6 * spread[1])


def stops_early(library, data=DATA, given={}, **options) -> None:  # noqa: B006
    """Check that fewer than 100 of 200 trees are kept."""
    patience = library.one_of(
        "early_stopping_rounds",
        sklearn_ltr="n_iter_no_change", LightGBM="early_stopping_round",
    )  # fmt: skip
    fitted = library.fit(data, given, n_estimators=200, **{patience: 3}, **options)
    kept = library.one_of(
        sklearn_ltr="n_iter_", LightGBM="best_iteration_",
        XGBoost="best_iteration", CatBoost="tree_count_",
    )  # fmt: skip
    must(0 < getattr(fitted, kept) < 100)


def evaluation(library, sets: list[Part]) -> dict[str, Any]:
    """Return the arguments of `fit` for evaluation sets."""
    if library.name == "sklearn_ltr":
        X_val, y_val, groups_val = zip(*sets, strict=True)
        return {"X_val": X_val, "y_val": y_val, "groups_val": groups_val}
    if library.name == "CatBoost":
        pool = library.package.Pool
        return {"eval_set": [pool(s.X, s.y, group_id=s.groups) for s in sets]}
    return {
        "eval_set": [(s.X, s.y) for s in sets],
        f"eval_{library.queries}": [library.convert(s.groups) for s in sets],
    }


@feature("early stopping on validation queries that you pass")
def stops_by_held_out_queries(library):
    train, held_out = (
        DATA.subset(rows) for rows in (DATA.groups < 40, DATA.groups >= 40)
    )
    stops_early(library, train, evaluation(library, [held_out]))


@feature("curves of several validation sets by several metrics")
def several_curves(library):
    train, *held_out = (BINARY.subset(DATA.groups % 3 == part) for part in range(3))
    given, names = evaluation(library, held_out), ["ndcg@3", "map"]
    option = library.one_of(
        {},
        sklearn_ltr={"scoring": names, "early_stopping": False},
        XGBoost={"eval_metric": names},
        CatBoost={"custom_metric": ["NDCG:top=3", "MAP"]},
    )
    if library.name == "LightGBM":
        given["eval_metric"] = ["ndcg", "map"]
    results = library.fit(train, given, **option).evals_result_
    results = results() if callable(results) else results
    found = [of_set for name, of_set in results.items() if not name.startswith("l")]
    must(sum(len(of_set) >= 2 for of_set in found) >= 2)


@feature("early stopping on queries held out by the library")
def holds_out_queries(library):
    stops_early(
        library,
        **library.one_of(
            {}, sklearn_ltr={"early_stopping": True}, CatBoost={"eval_fraction": 0.3}
        ),
    )
    if library.name == "CatBoost":  # its split must divide no query
        pool = library.package.Pool(DATA.X, DATA.y, group_id=DATA.groups)
        parts = pool.train_eval_split(False, False, 0.3, True)
        train, held_out = (set(part.get_group_id_hash()) for part in parts)
        must(bool(train and held_out and not train & held_out))


@feature("the same model for 1 and 2 threads")
def threads(library):
    data = draw(100, 100, seed=1)
    one, two = (library.scores(data, n_jobs=n, tree_size=6) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


@feature("queries in another order: the same model")
def another_order_of_queries(library):
    data = draw(150, 60, seed=1)
    order = np.random.default_rng(1).permutation(data.groups.max() + 1)[data.groups]
    moved = data.subset(np.argsort(order, kind="stable"))
    if library.name == "XGBoost":  # needs sorted ids
        moved = moved._replace(groups=np.sort(order))
    same(library.scores(moved, data.X), library.scores(data))


@feature("documents of a query in another order: the same model")
def another_order_within_queries(library):
    noise = np.random.default_rng(0).uniform(size=len(DATA.y))
    moved = DATA.subset(np.lexsort((noise, DATA.groups)))
    same(library.scores(moved, DATA.X), library.scores())


# --- beyond ranking ---------------------------------------------------------------


@feature("training on a GPU")
def on_a_gpu(library):
    """The fit works, or the error is about a missing device, not about the option."""
    option = library.one_of(
        {"device": "cuda"},
        LightGBM={"device_type": "gpu"}, CatBoost={"task_type": "GPU"},
    )  # fmt: skip
    try:
        library.fit(**option)
    except Exception as error:
        if not re.search("OpenCL device|CUDA error|GPU Tree Learner", str(error)):
            raise


@feature("categorical features")
def categories(library):
    names = pd.Categorical(np.array(list("pqrstuvw"))[np.arange(len(DATA.y)) % 8])
    y = (names.codes % 2).astype(int)
    options = library.one_of(
        {}, XGBoost={"enable_categorical": True}, CatBoost={"cat_features": ["name"]}
    )
    data = Part(pd.DataFrame({"name": names}), y, DATA.groups)
    scores = library.scores(data, tree_size=8, n_estimators=20, **options)
    must(scores[y == 1].min() > scores[y == 0].max())


@feature("monotonic constraints")
def monotonic(library):
    """Scores must not decrease with a feature, although grades do."""
    X = np.random.default_rng(0).uniform(size=(len(DATA.y), 1))
    data = Part(X, np.floor(5 * (1 - X[:, 0])), DATA.groups)
    grid = np.linspace(0, 1, 50)[:, np.newaxis]
    must(np.diff(library.scores(data, grid)).min() < 0)
    option = library.one_of(
        {"monotone_constraints": [1]},
        sklearn_ltr={"monotonic_cst": [1]}, XGBoost={"monotone_constraints": (1,)},
    )  # fmt: skip
    must(np.diff(library.scores(data, grid, **option)).min() >= 0)


@feature("interaction constraints")
def interactions(library):
    """Scores must be a sum of functions of one feature, although grades are not."""
    X = np.random.default_rng(0).uniform(-1, 1, size=(len(DATA.y), 2))
    data = Part(X, 4 * (X[:, 0] * X[:, 1] > 0).astype(int), DATA.groups)
    corners = np.array([[-0.5, -0.5], [-0.5, 0.5], [0.5, -0.5], [0.5, 0.5]])
    signs = np.array([1, -1, -1, 1])
    must(abs(signs @ library.scores(data, corners)) > 0.1)
    option = library.one_of(
        {"interaction_constraints": [[0], [1]]},
        sklearn_ltr={"interaction_cst": "no_interactions"},
        XGBoost={"interaction_constraints": "[[0], [1]]"},
    )
    must(abs(signs @ library.scores(data, corners, **option)) < 1e-4)


@feature("SHAP values")
def shap_values(library):
    """Contributions of all features and a constant sum to the score."""
    fitted, package = library.fit(), library.package
    if library.name == "sklearn_ltr":
        found = inspection.shap_values(fitted, DATA.X).contributions
    elif library.name == "XGBoost":
        table = package.DMatrix(DATA.X)
        found = fitted.get_booster().predict(table, pred_contribs=True)
    elif library.name == "CatBoost":
        pool = package.Pool(DATA.X, DATA.y, group_id=DATA.groups)
        found = fitted.get_feature_importance(pool, type="ShapValues")
    else:
        found = fitted.predict(DATA.X, pred_contrib=True)
    same(found.sum(axis=1), fitted.predict(DATA.X))


@feature("the leaf of each tree that a document comes to")
def leaves(library):
    """Two documents in the same leaves have the same score."""
    fitted = library.fit()
    if library.name == "LightGBM":
        found = fitted.predict(DATA.X, pred_leaf=True)
    else:
        found = getattr(fitted, library.one_of("apply", CatBoost="calc_leaf_indexes"))(
            DATA.X
        )
    must(found.shape == (len(DATA.y), 5))
    _, first, alike = np.unique(found, axis=0, return_index=True, return_inverse=True)
    scores = fitted.predict(DATA.X)
    same(scores, scores[first][alike.ravel()])


def table_of_nodes(library, fitted) -> pd.DataFrame:
    if library.name == "sklearn_ltr":
        return inspection.trees_to_dataframe(fitted)
    if library.name == "LightGBM":
        return fitted.booster_.trees_to_dataframe()
    if library.name == "XGBoost":
        return fitted.get_booster().trees_to_dataframe()
    return fitted.trees_to_dataframe()


def saved_as_json(library, fitted) -> dict[str, Any]:
    """Return the model as `save_model` of XGBoost or CatBoost writes it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.json")
        fitted.save_model(path, **library.one_of({}, CatBoost={"format": "json"}))
        return json.loads(path.read_text())


@feature("symmetric trees: one condition splits all leaves of a level")
def symmetric_trees(library):
    policy = library.one_of("symmetric", CatBoost="SymmetricTree")
    size = library.one_of({"tree_size": 15}, CatBoost={})
    fitted = library.fit(n_estimators=1, grow_policy=policy, **size)
    if library.name == "CatBoost":  # whose trees cannot be listed as a table
        (tree,) = saved_as_json(library, fitted)["oblivious_trees"]
        must(len(tree["leaf_values"]) == 2 ** len(tree["splits"]) > 2)
        return
    columns = library.one_of(
        sklearn_ltr=["feature", "threshold"],
        LightGBM=["split_feature", "threshold"], XGBoost=["Feature", "Split"],
    )  # fmt: skip
    splits = table_of_nodes(library, fitted)[columns].dropna()
    must(len(splits.drop_duplicates()) <= 5 < len(splits))


def dart_of(library) -> dict[str, Any]:
    """Return the options with which about a third of the earlier trees is dropped."""
    rates = {"rate_drop": 0.3, "skip_drop": 0.0}
    return library.one_of(
        {"boosting_type": "Dart"},
        sklearn_ltr={"dart": rates},
        LightGBM={"boosting_type": "dart", "drop_rate": 0.3, "skip_drop": 0.0},
        XGBoost={"booster": "dart", "verbosity": 0, **rates},
    )


@feature("dropped trees (DART)")
def dropped_trees(library):
    plain, dropped = (
        library.scores(n_estimators=20, **options) for options in ({}, dart_of(library))
    )
    must(np.ptp(plain - dropped) > 1e-3)


@feature("early stopping with dropped trees: the kept model has the best score")
def measured_model(library):
    """The model that predicts is the one whose score stopped the fit."""
    train, held_out = (
        DATA.subset(rows) for rows in (DATA.groups < 40, DATA.groups >= 40)
    )
    options = dart_of(library) | library.one_of(
        {"early_stopping_rounds": 3},
        sklearn_ltr={"n_iter_no_change": 3},
        XGBoost={"early_stopping_rounds": 3, "eval_metric": "ndcg@10-"},
        LightGBM={"early_stopping_round": 3},
    )
    given = evaluation(library, [held_out])
    given |= library.one_of({}, LightGBM={"eval_at": [10]})
    fitted = library.fit(train, given, n_estimators=200, **options)
    results = getattr(fitted, library.one_of("evals_result_", XGBoost="evals_result"))
    results = results() if callable(results) else results
    (curves,) = (v for name, v in results.items() if not name.startswith("tr"))
    (curve,) = curves.values()
    must(len(curve) < 100)
    ndcg = library.one_of(NDCG(10), LightGBM=NDCG(10, no_relevant="one"))
    kept = ndcg(held_out.y, fitted.predict(held_out.X), groups=held_out.groups)
    np.testing.assert_allclose(kept, max(curve), rtol=1e-6)


@feature("leaves drawn towards the nodes above them (`path_smooth`)")
def smooth_paths(library):
    plain, smooth = (library.scores(path_smooth=value) for value in (0.0, 1e4))
    must(np.ptp(smooth) < 0.5 * np.ptp(plain))


@feature("the nodes of all trees as a table")
def nodes_as_a_table(library):
    """A row for each node: those of binary trees are odd in number."""
    table = table_of_nodes(library, library.fit())
    name = library.one_of("tree", LightGBM="tree_index", XGBoost="Tree")
    n_nodes = table[name].value_counts()
    must(len(n_nodes) == 5 and (n_nodes % 2 == 1).all() and (n_nodes > 1).all())


@feature("export of the model as JSON")
def as_json(library):
    fitted = library.fit()
    if library.name == "sklearn_ltr":
        must(bool(json.loads(to_json(fitted))))
    elif library.name == "LightGBM":
        must(bool(json.dumps(fitted.booster_.dump_model())))
    else:
        must(bool(saved_as_json(library, fitted)))


@feature("export as ONNX")
def as_onnx(library):
    """What the library saves is loaded by onnxruntime, and scores the same."""
    onnxruntime = importlib.import_module("onnxruntime")
    fitted = library.fit()
    dtype = library.one_of(np.float32, sklearn_ltr=np.float64)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        if library.name == "sklearn_ltr":
            path.write_bytes(to_onnx(fitted).SerializeToString())
        elif library.name == "LightGBM":
            fitted.booster_.save_model(path)
        else:
            fitted.save_model(path, **library.one_of({}, CatBoost={"format": "onnx"}))
        session = onnxruntime.InferenceSession(path)
        (name,) = (column.name for column in session.get_inputs())
        scores = session.run(None, {name: DATA.X.astype(dtype)})[0]
    same(scores.ravel(), fitted.predict(DATA.X))


@feature("scores a model that another library has trained, with the same leaves")
def of_another_library(library):
    """LightGBM's model; XGBoost's, where LightGBM itself is the library."""
    lightgbm = importlib.import_module("lightgbm")
    theirs = lightgbm.LGBMRanker(n_estimators=3, verbose=-1)
    theirs.fit(DATA.X, DATA.y, group=peers.query_sizes(DATA.groups))
    text = theirs.booster_.model_to_string()
    if library.name == "sklearn_ltr":
        expected = theirs.booster_.predict(DATA.X)
        np.testing.assert_array_equal(from_lightgbm(text).predict(DATA.X), expected)
    elif library.name == "LightGBM":
        lightgbm.Booster(model_str=to_xgboost(from_lightgbm(text)))
    elif library.name == "XGBoost":
        library.package.Booster().load_model(bytearray(text.encode()))
    else:
        library.package.CatBoost().load_model(blob=text.encode())


@feature("probabilities of relevance, comparable across queries")
def probabilities(library):
    """Of documents of other queries with a probability, that share is relevant."""
    model = library.new(n_estimators=20)
    if library.name == "sklearn_ltr":
        model = calibration.CalibratedRanker(model)
    data = draw(600, 12, seed=1)
    data = data._replace(y=(data.y > 1).astype(int))
    train, other = (data.subset(data.groups % 2 == part) for part in range(2))
    model.fit(train.X, train.y, **library.given(train.groups))
    method = library.one_of("predict_proba", sklearn_ltr="predict_relevance")
    found = getattr(model, method)(other.X)
    must(found.min() >= 0 and found.max() <= 1)
    for part in np.array_split(np.argsort(found), 5):
        must(abs(found[part].mean() - other.y[part].mean()) < 0.1)


@feature("several labels with weights, each with its own metric")
def several_labels(library):
    """A label of weight 0 changes nothing, and one of another weight does."""
    labels = np.column_stack([DATA.y, np.random.default_rng(0).permutation(DATA.y)])

    def scores(weights):
        options = {"label_weights": weights, "metric": ["ndcg", "map"]}
        model = library.new(**library.one_of({}, sklearn_ltr=options))
        model.fit(DATA.X, labels, **library.given(DATA.groups))
        return model.predict(DATA.X)

    option = library.one_of({}, sklearn_ltr={"metric": "ndcg"})
    one = library.new(**option).fit(DATA.X, DATA.y, **library.given(DATA.groups))
    same(scores([1, 0]), one.predict(DATA.X))
    must(np.ptp(scores([1, 1]) - scores([1, 0])) > 1e-3)


@feature("correction of position bias in clicks")
def position_bias(library):
    option = library.one_of(
        {},
        sklearn_ltr={"position_bias": "additive"},
        XGBoost={"lambdarank_unbiased": True},
    )
    given = library.one_of(
        {"position": POSITIONS}, sklearn_ltr={"positions": POSITIONS}, XGBoost={}
    )
    fitted = library.fit(BINARY, given, **option)
    must(np.ptp(fitted.predict(DATA.X) - library.scores(BINARY)) > 1e-3)


@way(position_bias, "LightGBM", "with `lightgbm.train`")
def position_bias_in_a_dataset(library):
    def train(**more):
        group = library.convert(DATA.groups)
        data = library.package.Dataset(DATA.X, BINARY.y, group=group, **more)
        options = {"objective": "lambdarank", "num_threads": 1, "verbosity": -1}
        return library.package.train(options, data, 5).predict(DATA.X)

    must(np.ptp(train(position=POSITIONS) - train()) > 1e-3)


@feature("known propensities of examination, a weight of each clicked document")
def known_propensities(library):
    fitted = library.fit(BINARY, {"propensities": 1 / (1 + POSITIONS)})
    must(np.ptp(fitted.predict(DATA.X) - library.scores(BINARY)) > 1e-3)


@feature("weights of documents: grades of weight 0 do not matter")
def weights_of_documents(library):
    counts = np.arange(len(DATA.y)) % 3 > 0
    # queries of which two documents of weight 1 have different grades
    learned = [
        np.ptp(DATA.y[(DATA.groups == group) & counts]) > 0 for group in DATA.groups
    ]
    data, weight = DATA.subset(learned), counts[learned] * 1.0
    reversed_ = np.where(weight == 0, data.y.max() - data.y, data.y)
    option = library.one_of(
        {}, sklearn_ltr={"metric": None},
        XGBoost={"objective": "rank:pairwise"}, CatBoost={"loss_function": "QueryRMSE"},
    )  # fmt: skip
    given = {library.one_of("sample_weight", sklearn_ltr="document_weight"): weight}
    found = [
        library.fit(data._replace(y=y), given, **option).predict(data.X)
        for y in (data.y, reversed_)
    ]
    same(*found)
    must(np.ptp(found[0] - library.scores(data, **option)) > 1e-3)


PAIRS = np.argwhere((DATA.groups[:, None] == DATA.groups) & (DATA.y[:, None] > DATA.y))


@feature("judged pairs in place of grades")
def judged_pairs(library):
    """Scores must agree with most of the pairs; the grades say nothing."""
    option = library.one_of(
        {}, sklearn_ltr={"metric": None}, CatBoost={"loss_function": "PairLogit"}
    )
    grades = library.one_of(np.zeros(len(DATA.y)), sklearn_ltr=None)
    queries = library.given(DATA.groups)
    ranker = library.new(n_estimators=30, **option)
    scores = ranker.fit(DATA.X, grades, pairs=PAIRS, **queries).predict(DATA.X)
    must(np.mean(scores[PAIRS[:, 0]] > scores[PAIRS[:, 1]]) > 0.8)


# --- clusters of two workers --------------------------------------------------------


def of_cluster(library: Library, **classes: str) -> Any:
    """Return a ranker of a cluster, of the class of this library there."""
    module, _, ranker = classes.get(library.name, "").rpartition(".")
    if not module:
        raise NotImplementedError(f"{library.name} has no ranker there")
    return replace(library, module=module, ranker=ranker).new()


def scores_on_dask(library: Library) -> np.ndarray:
    """Fit two partitions of whole queries; return the scores of all rows."""
    import dask.array as da
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    ranker = of_cluster(
        library,
        sklearn_ltr="sklearn_ltr.dask.DaskLambdaMARTRanker",
        LightGBM="lightgbm.dask.DaskLGBMRanker",
        XGBoost="xgboost.dask.DaskXGBRanker",
    )
    with (
        LocalCluster(2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster),
    ):
        sizes = peers.query_sizes(DATA.groups)
        cuts = [int(sizes[:30].sum()), len(DATA.y)]
        table = FRAME.assign(y=DATA.y, groups=DATA.groups)
        rows = dd.concat(
            [dd.from_pandas(table[: cuts[0]], 1), dd.from_pandas(table[cuts[0] :], 1)]
        )
        X, y, groups = rows[list(FRAME)], rows["y"], rows["groups"]
        if library.name == "LightGBM":
            X, y = (one.to_dask_array(lengths=True) for one in (X, y))
            groups = da.from_array(sizes, chunks=((30, len(sizes) - 30),))
        fitted = ranker.fit(X, y, **{library.queries: groups})
        return np.asarray(fitted.predict(X).compute())


@feature("training on a Dask cluster")
def on_dask(library):
    must(np.ptp(scores_on_dask(library)) > 0)


@feature("training on a Dask cluster: the model of one machine")
def the_same_on_dask(library):
    same(scores_on_dask(library), library.scores())


def learns_on(library: Library, engine: str) -> None:
    """Fit the rows of two files of whole queries by two workers."""
    name = library.one_of(library.name, XGBoost="XGBoost hist")
    if name not in clusters.FITS[engine]:
        raise NotImplementedError(f"{library.name} has no ranker there")
    make_dataset, end = clusters.CLUSTERS[engine]
    with tempfile.TemporaryDirectory() as folder:
        clusters.write_files(Path(folder), DATA, 2)
        dataset = make_dataset(Path(folder), 2)
        predict = clusters.FITS[engine][name](DATA, 2, dataset, SMALL)
        end()
    must(np.ptp(predict(DATA.X)) > 0)


feature("training on Spark")(partial(learns_on, engine="spark"))
feature("training on Ray")(partial(learns_on, engine="ray"))


# ----------------------------------------------------------------------------------


def cell(name: str, library: Library) -> tuple[str, str]:
    """Return what the table says, and the first line of the error of a "no"."""
    try:
        FEATURES[name](library)
    except Exception as error:
        line = next(iter(str(error).strip().splitlines()), "")
        line = re.sub(r"^\[[\d:]+\] \S+:\d+: ", "", line)  # XGBoost's time and file
        why = f"{type(error).__name__}: {line}"
        said, other = WAYS.get((name, library.name), ("no", None))
        if other is not None:
            other(library)  # a way that no longer leads there ends the script
        return said, why
    return "yes", ""


def main() -> None:
    parser = parser_of(__doc__)
    known = [library.name for library in LIBRARIES]
    parser.add_argument("--libraries", nargs="+", choices=known, default=known)
    parser.add_argument("--features", default="", help="only those with these words")
    arguments = parser.parse_args()
    print(machine())
    warnings.simplefilter("ignore")
    for name in FEATURES:
        if arguments.features not in name:
            continue
        for library in LIBRARIES:
            if library.name not in arguments.libraries:
                continue
            said, why = cell(name, library)
            print(f"{name} | {library.name}: {said}  {why}", flush=True)
            record = {"feature": name, "library": library.name, "cell": said}
            append_json(arguments.json, [record | ({"error": why} if why else {})])


if __name__ == "__main__":
    main()
