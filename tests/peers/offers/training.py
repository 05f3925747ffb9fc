"""Rows on what is learned, when training stops, and whether it can be repeated."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_ltr._queries import QueryGroups
from sklearn_ltr.lambdas import compute_lambdas
from sklearn_ltr.metrics import Metric, get_metric
from tests.peers.offers import row
from tests.peers.offers.libraries import DATA, draw, same_scores
from tests.peers.offers.queries import NOT_EQUAL

RELEVANT = DATA._replace(y=(DATA.y > 1).astype(float))  # all that MAP and MRR see
UNKNOWN = "(?i)unknown objective"


def learns(library, name: str, **theirs: str) -> None:
    """It raises a measure by its name, and not as it does by default."""
    key = {"sklearn_ltr": "metric", "CatBoost": "loss_function"}
    option = {key.get(library.name, "objective"): theirs.get(library.name, name)}
    scores = library.scores(RELEVANT, **option)
    assert np.ptp(scores - library.scores(RELEVANT)) > 1e-3
    _, y, groups = RELEVANT
    worst, reached, best = (
        get_metric(name)(y, ranked_by, groups=groups) for ranked_by in (-y, scores, y)
    )
    assert reached > (worst + best) / 2


@row("learns MAP", LightGBM=UNKNOWN)
def learns_map(library):
    learns(library, "map", XGBoost="rank:map", CatBoost="YetiRank:mode=MAP")


@row("learns MRR, learns ERR", LightGBM=UNKNOWN, XGBoost=UNKNOWN)
def learns_mrr_and_err(library):
    learns(library, "mrr", XGBoost="rank:mrr", CatBoost="YetiRank:mode=MRR")
    learns(library, "err", XGBoost="rank:err", CatBoost="YetiRank:mode=ERR")


class WorthOfTheFirst(Metric):
    """Any function of a ranked list of grades."""

    def value(self, ranked_grades):
        return float(np.sqrt(ranked_grades[0]))


def worth_of_the_first(y, scores) -> float:
    return float(np.sqrt(y[np.argmax(scores)]))


@row(
    "learns a measure of yours, given as a function of a ranked list",
    LightGBM="cannot unpack|objective",
    XGBoost="objective function not supported",
    CatBoost="Invalid loss_function",
)
def learns_your_own(library):
    key, own = {
        "sklearn_ltr": ("metric", WorthOfTheFirst()),
        "CatBoost": ("loss_function", worth_of_the_first),
    }.get(library.name, ("objective", worth_of_the_first))
    assert np.ptp(library.scores(DATA, **{key: own}) - library.scores(DATA)) > 1e-3


@learns_your_own.instead("LightGBM", "with gradients of yours")
def learns_your_gradients(library):
    def objective(y, scores, weight, group):
        queries = QueryGroups.from_groups(
            np.repeat(np.arange(len(group)), group), len(y)
        )
        return compute_lambdas(scores, y, queries, WorthOfTheFirst())

    scores = library.scores(DATA, objective=objective)
    assert np.ptp(scores - library.scores(DATA)) > 1e-3


PATIENCE = {
    "sklearn_ltr": {"n_iter_no_change": 3},
    "LightGBM": {"early_stopping_round": 3},
    "XGBoost": {"early_stopping_rounds": 3},
    "CatBoost": {"early_stopping_rounds": 3},
}


def stopped_early(library, fitted) -> None:
    """Not all of 200 trees were kept."""
    kept = {
        "sklearn_ltr": "n_iter_",
        "LightGBM": "best_iteration_",
        "XGBoost": "best_iteration",
        "CatBoost": "tree_count_",
    }[library.name]
    assert 0 < getattr(fitted, kept) < 100


@row("early stopping by queries that you hold out")
def stops_by_held_out_queries(library):
    module = pytest.importorskip(library.module)
    train, held_out = (
        DATA.take(rows) for rows in (DATA.groups < 40, DATA.groups >= 40)
    )
    X, y, groups = held_out
    told = library.as_it_wants(groups)
    if library.name == "sklearn_ltr":
        given = {"X_val": X, "y_val": y, "groups_val": told}
    elif library.name == "CatBoost":
        given = {"eval_set": module.Pool(X, y, group_id=told)}
    else:
        given = {"eval_set": [(X, y)], f"eval_{library.queries}": [told]}
    fitted = library.new(n_estimators=200, **PATIENCE[library.name])
    fitted.fit(train.X, train.y, **library.told(train.groups), **given)
    stopped_early(library, fitted)


@row(
    "early stopping by queries that it holds out itself",
    LightGBM="at least one dataset",
    XGBoost="at least 1 validation dataset",
)
def holds_out_queries(library):
    option = {
        "sklearn_ltr": {"early_stopping": True},
        "CatBoost": {"eval_fraction": 0.3},
    }.get(library.name, {})
    options = PATIENCE[library.name] | option
    stopped_early(library, library.fit(DATA, n_estimators=200, **options))
    if library.name == "CatBoost":
        held_out_queries_are_whole()


def held_out_queries_are_whole() -> None:
    """The split that `eval_fraction` makes."""
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
    place = np.random.default_rng(1).permutation(data.groups.max() + 1)[data.groups]
    moved = data.take(np.argsort(place, kind="stable"))
    if library.name == "XGBoost":  # wants ids that rise with the rows
        moved = moved._replace(groups=np.sort(place))
    same_scores(library.scores(moved, data.X), library.scores(data))


@row(
    "documents of a query in another order: the same model",
    LightGBM=NOT_EQUAL,
    XGBoost=NOT_EQUAL,
    CatBoost=NOT_EQUAL,
)
def another_order_within_queries(library):
    noise = np.random.default_rng(0).uniform(size=len(DATA.y))
    moved = DATA.take(np.lexsort((noise, DATA.groups)))
    same_scores(library.scores(moved, DATA.X), library.scores(DATA))
