"""NDCG@10 of searches of the same seconds: RankerSearch, and Optuna with peers.

    python -m benchmarks.quality.search_budget --data PATH [PATH ...] --made 820 \
        --json PATH

On folds of a collection (see queries.py for PATH and the folds) a search is given four
parts, and ranks the fifth, which it has not seen. Of made data, the first queries are
for the search, and a quarter as many further ones are ranked.

All have one thread, the same seconds, binning and the fit to all rows included, and the
same five folds of whole queries. Optuna's searches are those of its users: TPE, the
defaults first, and at most 1,000 trees, of which the mean over the folds tells the best
number by early stopping; then the best setting is fitted to all rows with so many.
A trial that would leave no time for this fit is stopped and does not count; the first
one is stopped after 0.7 of the seconds, and counts. Each search runs in a process of
its own, which has searched a little before the clock starts.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import GroupKFold

from benchmarks.tools.measuring import in_a_new_process
from benchmarks.tools.paired import minus
from benchmarks.tools.peers import OURS, query_sizes
from benchmarks.tools.queries import (
    Part,
    divided,
    has_relevant,
    load,
    made_like_mslr,
    splits,
)
from benchmarks.tools.records import append_json, machine, parser_of

N_FOLDS = 5
MOST_TREES, PATIENCE = 1000, 50
WARM_UP = 10.0  # seconds of the search before, in which a network compiles its kernels
FIRST_SHARE = 0.7  # of the seconds, for the first trial
Predict = Callable[[np.ndarray], np.ndarray]


class Searched(NamedTuple):
    """What a search has found."""

    predict: Predict
    n_tried: int


def search_ours(train: Part, seconds: float, seed: int) -> Searched:
    from sklearn_ltr.model_selection import RankerSearch

    search = train.fit(RankerSearch(time=seconds, random_state=seed))
    return Searched(search.predict, len(search.cv_results_["params"]))


class Clock:
    """Tells when a search must end, so that the fit to all rows ends in time."""

    def __init__(self, seconds: float) -> None:
        self.start, self.seconds = perf_counter(), seconds
        self.of_fit: float | None = None  # seconds of the fit to all rows, once known

    def is_over(self, share: float = 1.0) -> bool:
        """Tell whether a share of a trial must end."""
        limit = FIRST_SHARE * share * self.seconds
        if self.of_fit is not None:
            limit = self.seconds - self.of_fit
        return perf_counter() - self.start >= limit


def optimize(
    values_of: Callable[[Any], tuple[float, int]],
    defaults: dict[str, Any],
    clock: Clock,
    seed: int,
) -> tuple[dict[str, Any], int, int]:
    """Return the best setting, its number of trees, and the number of trials.

    `values_of` returns the metric of held-out queries, and the best number of trees.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(
        direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed)
    )
    study.enqueue_trial(defaults)
    n_tried = 0
    while n_tried == 0 or not clock.is_over():
        begin, trial = perf_counter(), study.ask()
        value, n_trees = values_of(trial)
        if n_tried > 0 and clock.is_over():
            break
        trial.set_user_attr("trees", n_trees)
        study.tell(trial, value)
        n_tried += 1
        # a fold is fitted to four of five parts, and to more trees than are kept
        of_fit = (perf_counter() - begin) / (N_FOLDS - 1)
        clock.of_fit = max(clock.of_fit or 0.0, of_fit)
    best = study.best_trial
    return best.params, best.user_attrs["trees"], n_tried


def folds_within(train: Part) -> list[tuple[np.ndarray, np.ndarray]]:
    return list(GroupKFold(N_FOLDS).split(train.X, train.y, train.groups))


def search_lightgbm(train: Part, seconds: float, seed: int) -> Searched:
    import lightgbm

    clock = Clock(seconds)
    fixed = {
        "objective": "lambdarank", "metric": "ndcg", "eval_at": [10], "num_threads": 1,
        "seed": seed, "verbosity": -1, "bagging_freq": 1, "feature_pre_filter": False,
    }  # fmt: skip
    data = lightgbm.Dataset(
        train.X, train.y, group=query_sizes(train.groups), params=fixed,
        free_raw_data=False,
    )  # fmt: skip
    splits = folds_within(train)

    def end_in_time(env) -> None:
        if clock.is_over():
            raise lightgbm.callback.EarlyStopException(env.iteration, [])

    def values_of(trial) -> tuple[float, int]:
        real, whole = trial.suggest_float, trial.suggest_int
        params = {
            "learning_rate": real("learning_rate", 0.01, 0.3, log=True),
            "num_leaves": whole("num_leaves", 4, 255, log=True),
            "min_child_samples": whole("min_child_samples", 5, 200, log=True),
            "feature_fraction": real("feature_fraction", 0.4, 1.0),
            "bagging_fraction": real("bagging_fraction", 0.4, 1.0),
            "lambda_l2": real("lambda_l2", 1e-8, 10.0, log=True),
        }
        found = lightgbm.cv(
            fixed | params, data, MOST_TREES, folds=splits,
            callbacks=[
                end_in_time, lightgbm.early_stopping(PATIENCE, verbose=False)
            ],
        )  # fmt: skip
        curve = found["valid ndcg@10-mean"]
        return max(curve), int(np.argmax(curve)) + 1

    defaults = {
        "learning_rate": 0.1, "num_leaves": 31, "min_child_samples": 20,
        "feature_fraction": 1.0, "bagging_fraction": 1.0, "lambda_l2": 1e-8,
    }  # fmt: skip
    params, n_trees, n_tried = optimize(values_of, defaults, clock, seed)
    model = lightgbm.train(fixed | params, data, n_trees)
    return Searched(lambda X: model.predict(X, num_threads=1), n_tried)


def search_catboost(train: Part, seconds: float, seed: int) -> Searched:
    import catboost

    clock = Clock(seconds)
    metric = "NDCG:top=10;type=Exp"
    fixed = {
        "loss_function": "YetiRank", "eval_metric": metric, "thread_count": 1,
        "random_seed": seed, "allow_writing_files": False, "verbose": False,
    }  # fmt: skip
    pools = [
        [catboost.Pool(p.X, p.y, group_id=p.groups) for p in map(train.subset, split)]
        for split in folds_within(train)
    ]

    class EndInTime:
        def __init__(self, fold: int) -> None:
            self.share = (fold + 1) / N_FOLDS

        def after_iteration(self, info) -> bool:
            return not clock.is_over(self.share)

    def values_of(trial) -> tuple[float, int]:
        real, whole = trial.suggest_float, trial.suggest_int
        params = {
            "learning_rate": real("learning_rate", 0.01, 0.3, log=True),
            "depth": whole("depth", 3, 9),
            "l2_leaf_reg": real("l2_leaf_reg", 0.5, 30.0, log=True),
            "random_strength": real("random_strength", 0.1, 10.0, log=True),
            "rsm": real("rsm", 0.4, 1.0),
        }
        curves = []
        for fold, (of_train, held_out) in enumerate(pools):
            model = catboost.CatBoost(
                {**fixed, **params, "iterations": MOST_TREES, "od_wait": PATIENCE}
            ).fit(of_train, eval_set=held_out, callbacks=[EndInTime(fold)])
            curve = model.get_evals_result()["validation"][metric]
            curves.append(np.pad(curve, (0, MOST_TREES - len(curve)), "edge"))
        mean_curve = np.mean(curves, axis=0)
        return float(mean_curve.max()), int(np.argmax(mean_curve)) + 1

    defaults = {
        "learning_rate": 0.1, "depth": 6, "l2_leaf_reg": 3.0, "random_strength": 1.0,
        "rsm": 1.0,
    }  # fmt: skip
    params, n_trees, n_tried = optimize(values_of, defaults, clock, seed)
    every = catboost.Pool(train.X, train.y, group_id=train.groups)
    model = catboost.CatBoost({**fixed, **params, "iterations": n_trees}).fit(every)
    return Searched(lambda X: model.predict(X, thread_count=1), n_tried)


SEARCHES = {
    OURS: search_ours,
    "Optuna and LightGBM": search_lightgbm,
    "Optuna and CatBoost": search_catboost,
}


def run_search(
    library: str, train: Part, test: Part, seconds: float, seed: int
) -> dict[str, Any]:
    """Search in one thread; return NDCG@10 of each test query, and what it took."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    search = SEARCHES[library]
    search(train.of_queries(np.unique(train.groups)[:20]), WARM_UP, seed)
    start = perf_counter()
    found = search(train, seconds, seed)
    taken = perf_counter() - start
    values = test.ndcg(found.predict(test.X))[has_relevant([test])]
    return {
        "taken": round(taken, 1),
        "tried": found.n_tried,
        "ndcg@10": values.round(5).tolist(),
    }


def made_fold(n_queries: int) -> tuple[Part, Part]:
    """Return queries for the search, and a quarter as many of the same function."""
    every = made_like_mslr(n_queries + n_queries // 4)
    return divided(every, n_queries)


def sets_of(arguments: argparse.Namespace) -> dict[str, list[tuple[Part, Part]]]:
    """Return queries to search with and to rank, of each fold of the data, by name."""
    sets = {}
    for path in arguments.data:
        every = splits(load(path))
        sets[path.name] = [every[n] for n in arguments.folds]
    if arguments.made is not None:
        sets["made"] = [made_fold(arguments.made)]
    return sets


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--data", type=Path, nargs="+", default=[])
    parser.add_argument("--made", type=int, help="queries of made data")
    parser.add_argument("--folds", type=int, nargs="+", default=list(range(5)))
    parser.add_argument("--seconds", type=float, nargs="+", default=[10, 60, 300])
    parser.add_argument(
        "--libraries", nargs="+", choices=list(SEARCHES), default=list(SEARCHES)
    )
    arguments = parser.parse_args()
    print(machine(["optuna"]))
    for data, sets in sets_of(arguments).items():
        for seconds in arguments.seconds:
            values: dict[str, list[float]] = {}
            for number, (train, test) in enumerate(sets):
                for library in arguments.libraries:
                    given = library, train, test, seconds, number
                    record = {
                        "data": data, "library": library, "seconds": seconds,
                        "fold": number, "rows": len(train.y),
                    } | in_a_new_process(run_search, *given)  # fmt: skip
                    append_json(arguments.json, [record])
                    values.setdefault(library, []).extend(record["ndcg@10"])
            first = next(iter(values.values()))
            print(f"\n{data}, {seconds:g} s, {len(first):,} queries", flush=True)
            for library, of_queries in values.items():
                difference = minus(np.array(of_queries), np.array(first))
                print(f"{library:22}{np.mean(of_queries):9.4f}   {difference}")


if __name__ == "__main__":
    main()
