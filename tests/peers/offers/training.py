"""Rows on objectives, early stopping and reproducibility."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_ltr.inspection import compute_lambdas
from sklearn_ltr.metrics import Metric, get_metric
from tests.peers.offers import row
from tests.peers.offers.libraries import DATA, draw, same_scores
from tests.peers.offers.queries import NOT_EQUAL

BINARY = DATA._replace(y=(DATA.y > 1).astype(float))  # for MAP and MRR
UNKNOWN = "(?i)unknown objective"


def trains_for(library, name: str, **objectives: str) -> None:
    """Check that training for a metric raises it, and is not the default training."""
    key = {"sklearn_ltr": "metric", "CatBoost": "loss_function"}
    option = {key.get(library.name, "objective"): objectives.get(library.name, name)}
    scores = library.scores(BINARY, **option)
    assert np.ptp(scores - library.scores(BINARY)) > 1e-3
    _, y, groups = BINARY
    worst, reached, best = (
        get_metric(name)(y, s, groups=groups) for s in (-y, scores, y)
    )
    assert reached > (worst + best) / 2


@row("training for MAP", LightGBM=UNKNOWN)
def train_for_map(library):
    trains_for(library, "map", XGBoost="rank:map", CatBoost="YetiRank:mode=MAP")


@row("training for MRR and for ERR", LightGBM=UNKNOWN, XGBoost=UNKNOWN)
def train_for_mrr_and_err(library):
    trains_for(library, "mrr", XGBoost="rank:mrr", CatBoost="YetiRank:mode=MRR")
    trains_for(library, "err", XGBoost="rank:err", CatBoost="YetiRank:mode=ERR")


class RootOfTopGrade(Metric):
    """Square root of the first grade of a ranked list."""

    def value(self, ranked_grades):
        return float(np.sqrt(ranked_grades[0]))


def root_of_top_grade(y, scores) -> float:
    return float(np.sqrt(y[np.argmax(scores)]))


@row(
    "training for a metric of your own, a function of a ranked list",
    LightGBM="cannot unpack|objective",
    XGBoost="objective function not supported",
    CatBoost="Invalid loss_function",
)
def train_for_own_metric(library):
    key, own = {
        "sklearn_ltr": ("metric", RootOfTopGrade()),
        "CatBoost": ("loss_function", root_of_top_grade),
    }.get(library.name, ("objective", root_of_top_grade))
    assert np.ptp(library.scores(DATA, **{key: own}) - library.scores(DATA)) > 1e-3


@train_for_own_metric.workaround("LightGBM", "with gradients of your own")
def train_with_own_gradients(library):
    def objective(y, scores, weight, group):
        groups = np.repeat(np.arange(len(group)), group)
        return compute_lambdas(scores, y, RootOfTopGrade(), groups=groups)

    scores = library.scores(DATA, objective=objective)
    assert np.ptp(scores - library.scores(DATA)) > 1e-3


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


@row(
    "an objective of your own, a function that sees the queries",
    XGBoost="objective function not supported",
    CatBoost="Invalid loss_function",
)
def train_for_own_objective(library):
    key, own = {
        "sklearn_ltr": ("objective", lambda s, y, o: listnet(s, y, np.diff(o))),
        "CatBoost": ("loss_function", ListNet()),
    }.get(library.name, ("objective", lambda y, s, w, group: listnet(s, y, group)))
    scores = library.scores(DATA, n_estimators=30, **{key: own})
    assert get_metric("ndcg@10")(DATA.y, scores, groups=DATA.groups) > 0.7


def rate_of_tree(m: int) -> float:
    return 0.5 * 0.5**m


@row("a learning rate for each tree, by a function", CatBoost="not JSON serializable")
def learning_rate_of_each_tree(library):
    module = pytest.importorskip(library.module)
    option, given = {}, {}
    if library.name == "LightGBM":
        given = {"callbacks": [module.reset_parameter(learning_rate=rate_of_tree)]}
    elif library.name == "XGBoost":
        scheduler = module.callback.LearningRateScheduler(rate_of_tree)
        option = {"callbacks": [scheduler]}
    else:
        option = {"learning_rate": rate_of_tree}
    queries = library.group_argument(DATA.groups)
    falling = library.new(n_estimators=9, **option)
    falling.fit(DATA.X, DATA.y, **queries, **given)
    constant = library.fit(DATA, n_estimators=9, learning_rate=0.5)
    # the rates add up to 1 and to 4.5
    spread = [np.ptp(model.predict(DATA.X)) for model in (falling, constant)]
    assert 0 < spread[0] < 0.6 * spread[1]


PATIENCE = {
    "sklearn_ltr": {"n_iter_no_change": 3},
    "LightGBM": {"early_stopping_round": 3},
    "XGBoost": {"early_stopping_rounds": 3},
    "CatBoost": {"early_stopping_rounds": 3},
}


def check_stopped_early(library, fitted) -> None:
    """Check that fewer than 100 of 200 trees were kept."""
    kept = {
        "sklearn_ltr": "n_iter_",
        "LightGBM": "best_iteration_",
        "XGBoost": "best_iteration",
        "CatBoost": "tree_count_",
    }[library.name]
    assert 0 < getattr(fitted, kept) < 100


@row("early stopping on validation queries that you pass")
def stops_by_held_out_queries(library):
    module = pytest.importorskip(library.module)
    train, held_out = (
        DATA.subset(rows) for rows in (DATA.groups < 40, DATA.groups >= 40)
    )
    X, y, groups = held_out
    converted = library.convert_groups(groups)
    if library.name == "sklearn_ltr":
        given = {"X_val": X, "y_val": y, "groups_val": converted}
    elif library.name == "CatBoost":
        given = {"eval_set": module.Pool(X, y, group_id=converted)}
    else:
        given = {"eval_set": [(X, y)], f"eval_{library.queries}": [converted]}
    fitted = library.new(n_estimators=200, **PATIENCE[library.name])
    fitted.fit(train.X, train.y, **library.group_argument(train.groups), **given)
    check_stopped_early(library, fitted)


@row("curves of several validation sets by several metrics")
def several_curves(library):
    module = pytest.importorskip(library.module)
    sets = [BINARY.subset(DATA.groups % 3 == part) for part in range(3)]
    train, *held_out = sets
    converted = [library.convert_groups(part.groups) for part in held_out]
    names = ["ndcg@3", "map"]
    option, given = {}, {}
    if library.name == "sklearn_ltr":
        option = {"scoring": names, "early_stopping": False}
        X_val, y_val, groups_val = zip(*held_out, strict=True)
        given = {"X_val": X_val, "y_val": y_val, "groups_val": groups_val}
    elif library.name == "CatBoost":
        option = {"custom_metric": ["NDCG:top=3", "MAP"]}
        pools = [module.Pool(p.X, p.y, group_id=p.groups) for p in held_out]
        given = {"eval_set": pools}
    else:
        given = {f"eval_{library.queries}": converted}
        given["eval_set"] = [(part.X, part.y) for part in held_out]
        if library.name == "LightGBM":
            given["eval_metric"] = ["ndcg", "map"]
        else:
            option = {"eval_metric": names}
    fitted = library.new(**option)
    fitted.fit(train.X, train.y, **library.group_argument(train.groups), **given)
    results = fitted.evals_result_
    if callable(results):
        results = results()
    found = [of_set for name, of_set in results.items() if not name.startswith("l")]
    assert sum(len(of_set) >= 2 for of_set in found) >= 2


@row(
    "early stopping on queries held out by the library",
    LightGBM="at least one dataset",
    XGBoost="at least 1 validation dataset",
)
def holds_out_queries(library):
    option = {
        "sklearn_ltr": {"early_stopping": True},
        "CatBoost": {"eval_fraction": 0.3},
    }.get(library.name, {})
    options = PATIENCE[library.name] | option
    check_stopped_early(library, library.fit(DATA, n_estimators=200, **options))
    if library.name == "CatBoost":
        check_whole_queries()


def check_whole_queries() -> None:
    """Check that the split of `eval_fraction` divides no query."""
    catboost = pytest.importorskip("catboost")
    pool = catboost.Pool(DATA.X, DATA.y, group_id=DATA.groups)
    parts = pool.train_eval_split(False, False, 0.3, True)
    train, held_out = (set(part.get_group_id_hash()) for part in parts)
    assert train and held_out and not train & held_out


@row("the same model for 1 and 2 threads")
def threads(library):
    data = draw(100, 100, seed=1)
    one, two = (library.scores(data, n_jobs=n, tree_size=6) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


@row(
    "queries in another order: the same model",
    XGBoost=NOT_EQUAL,
    CatBoost=NOT_EQUAL,
)
def another_order_of_queries(library):
    data = draw(150, 60, seed=1)
    order = np.random.default_rng(1).permutation(data.groups.max() + 1)[data.groups]
    moved = data.subset(np.argsort(order, kind="stable"))
    if library.name == "XGBoost":  # needs sorted ids
        moved = moved._replace(groups=np.sort(order))
    same_scores(library.scores(moved, data.X), library.scores(data))


@row(
    "documents of a query in another order: the same model",
    LightGBM=NOT_EQUAL,
    XGBoost=NOT_EQUAL,
    CatBoost=NOT_EQUAL,
)
def another_order_within_queries(library):
    noise = np.random.default_rng(0).uniform(size=len(DATA.y))
    moved = DATA.subset(np.lexsort((noise, DATA.groups)))
    same_scores(library.scores(moved, DATA.X), library.scores(DATA))
