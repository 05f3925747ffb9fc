"""When a correction for position bias helps: the common protocol on simulated clicks.

    python -m benchmarks.clicks.clicks_protocol --mq2008 PATH --json RESULTS
    python -m benchmarks.clicks.clicks_protocol --mq2008 PATH --grid

A weak ranker shows lists, users click, a ranker learns from the clicks, and is judged
by NDCG@10 on the grades of test queries (those with a relevant document).

Data: seed s is fold s of MQ2008 (471 training queries), or made data of the shape of
MSLR-WEB (500 training and 500 test queries of 122 documents and 136 features).

Logging: two rankers, each of 10 trees of 4 leaves trained on another 1% of the training
queries (of those with a relevant document); each session shows the first 10 documents
of one of them.

Users, with noise 0.1 and strength 0.5, 1 or 2 of the bias:

- "pbm": position k (from 0) is examined with probability (1 + k) ** -strength;
- "cascade": a user reads from the top, stops at the first click, and has the patience
  to read on with probability gamma after each document;
- "dbn": the dynamic Bayesian network with perseverance gamma.

gamma = 10 ** (-strength / 9), so that without clicks the tenth position is read with
the probability that "pbm" has.

Methods: trees trained on clicks as if they were grades ("naive"), with corrections by
position or by propensities, the peers' with and without theirs, and trained on all
grades of the training part ("grades"). True propensities are those of each row given
its list; estimated ones are those of InterventionHarvesting, from the same log. All
have the same number of trees, leaves and learning rate (SETTINGS), and the defaults of
their library, but ours learn with `regression_weight=0`, unless it says "all defaults".
Trained on grades, the mean NDCG@10 over libraries
and collections is 0.665, the second of --grid (0.667 with 31 leaves, which take
longer).

Sessions of one query with the same list and the same clicks are one group, with their
number as its weight; lists with no click, or nothing but clicks, have no pairs and are
left out. This changes no gradient. Leaves of ours and of LightGBM count rows, so a
group of many sessions counts there like one of few. XGBoost's ratios do not weigh
groups; so its correction learns from equal sessions as groups of their own: all up to
100,000 sessions, beyond that a sample of about 100,000 sessions, in which a frequent
one has its share.

Each finished fit is a line of RESULTS, and a second run leaves out what is there.
Rounds go from cheap to expensive, and all settings of a round come before the next.
`tables.py` makes the tables.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.tools import peers
from benchmarks.tools.peers import Settings
from benchmarks.tools.queries import (
    Fold,
    Part,
    folds,
    has_relevant,
    load,
    made_like_mslr,
)
from benchmarks.tools.records import append_json, machine, parser_of, read_json
from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.clicks import InterventionHarvesting, simulate_clicks
from sklearn_ltr.metrics import NDCG

NDCG_10 = NDCG(10, no_relevant="skip")
SETTINGS = Settings(n_estimators=100, learning_rate=0.1, max_leaf_nodes=15, n_threads=1)
USERS = ("pbm", "cascade", "dbn")
STRENGTHS = (0.5, 1.0, 2.0)
SESSIONS = (1000, 10_000, 100_000, 1_000_000)
K, NOISE, N_RANKERS = 10, 0.1, 2
MOST_GROUPS = 100_000
SMALLEST = 1e-6  # propensity, far below `min_propensity`, to which it is clipped
MADE_QUERIES = 500  # for training, and for testing
KEY = ("data", "users", "strength", "sessions", "seed", "method")


class Log(NamedTuple):
    """Distinct sessions with a click and a document that was not clicked.

    All but `estimated` are (n_rows,), by group and position.
    """

    X: np.ndarray  # (n_rows, n_features)
    clicks: np.ndarray
    groups: np.ndarray
    positions: np.ndarray
    n_sessions: np.ndarray  # equal sessions of the row's group
    examined: np.ndarray  # probability, given the list
    estimated: Callable[[], np.ndarray]  # returns (n_positions,) propensities


# --- data -----------------------------------------------------------------------------


@cache
def mq2008(path: Path) -> list[Fold]:
    return folds(load(path))


@cache
def made(seed: int, n_queries: int) -> Fold:
    every = made_like_mslr(3 * n_queries, seed)
    third = every.groups // n_queries
    every = every._replace(groups=every.groups % n_queries)
    return Fold(*(every.subset(third == part) for part in range(3)))


def read_fold(data: str, seed: int, arguments) -> Fold:
    if data == "mq2008":
        return mq2008(arguments.mq2008)[seed % 5]
    return made(seed, arguments.queries)


# --- clicks ---------------------------------------------------------------------------


def weak_rankers(train: Part, seed: int) -> list[LambdaMARTRanker]:
    """Return rankers that were trained on different 1% of the queries."""
    learnable = has_relevant([train])
    n = max(3, round(0.01 * len(learnable)))
    drawn = np.random.default_rng(seed).choice(
        np.flatnonzero(learnable), (N_RANKERS, n), replace=False
    )
    rankers = []
    for queries in drawn:
        ranker = LambdaMARTRanker(
            n_estimators=10,
            max_leaf_nodes=4,
            min_samples_leaf=5,
            early_stopping=False,
            random_state=seed,
            n_jobs=1,
        )
        rankers.append(train.of_queries(queries).fit(ranker))
    return rankers


def perseverance_of(strength: float) -> float:
    return 10 ** (-strength / 9)


def simulated(train: Part, scores, users: str, strength: float, n: int, seed: int):
    """Return the log of `simulate_clicks`; the cascade's users lose patience."""
    gamma = perseverance_of(strength)
    log = simulate_clicks(
        train.y,
        scores,
        groups=train.groups,
        model=users,
        n_sessions=n,
        k=K,
        eta=strength,
        noise=NOISE,
        perseverance=gamma,
        random_state=seed,
    )
    if users == "cascade":
        patience = np.random.default_rng(seed).geometric(1 - gamma, size=n)
        log.clicks *= log.positions < patience[log.sessions]
    return log


def examination(attraction: np.ndarray, users: str, strength: float) -> np.ndarray:
    """Return the probability that each position is examined, given the list.

    attraction : (n_lists, n_positions)
    """
    position = np.arange(attraction.shape[1])
    if users == "pbm":
        return np.broadcast_to((1.0 + position) ** -strength, attraction.shape)
    stops = attraction
    if users == "dbn":
        stops = attraction * (attraction - NOISE) / (1 - NOISE)
    goes_on = perseverance_of(strength) * (1 - stops[:, :-1])
    return np.hstack((np.ones((len(attraction), 1)), np.cumprod(goes_on, axis=1)))


def collapsed(train: Part, log, users: str, strength: float) -> Log:
    """Return the distinct sessions that have pairs, each with its number."""
    n_sessions, n_documents = int(log.sessions[-1]) + 1, len(train.y)
    width = int(log.positions.max()) + 1
    shown = np.full((n_sessions, width), n_documents)
    shown[log.sessions, log.positions] = log.documents
    clicked = np.zeros((n_sessions, width), dtype=bool)
    clicked[log.sessions, log.positions] = log.clicks
    # a random number for each document, click and position: equal sums, equal lists
    numbers = np.random.default_rng(0).integers(
        2**63, size=(width, n_documents + 1, 2), dtype=np.uint64
    )
    key = numbers[np.arange(width), shown, clicked.astype(int)].sum(axis=1)
    _, first, count = np.unique(key, return_index=True, return_counts=True)
    is_row = shown < n_documents
    has_pairs = clicked.any(axis=1) & (is_row & ~clicked).any(axis=1)
    kept, count = first[has_pairs[first]], count[has_pairs[first]]
    order = np.argsort(kept)
    kept, count = kept[order], count[order]
    shown, clicked, is_row = shown[kept], clicked[kept], is_row[kept]
    group, position = np.nonzero(is_row)
    attraction = np.append(log.attractiveness, 0.0)[shown]
    return Log(
        np.ascontiguousarray(train.X[shown[is_row]]),
        clicked[is_row].astype(np.int64),
        group,
        position,
        count[group].astype(np.float64),
        np.maximum(examination(attraction, users, strength)[is_row], SMALLEST),
        cache(partial(estimated_propensities, log)),
    )


def estimated_propensities(log) -> np.ndarray:
    """Return what InterventionHarvesting finds, at most 1; 0 where it is unknown."""
    names = ("groups", "documents", "positions", "sessions")
    model = InterventionHarvesting(tol=1e-4)
    model.fit(log.clicks, **{name: log[name] for name in names})
    return np.clip(np.nan_to_num(model.propensities_), 0.0, 1.0)


def repeated(log: Log, seed: int) -> Log:
    """Return equal sessions as groups of their own, MOST_GROUPS of them or fewer."""
    starts = np.flatnonzero(np.diff(log.groups, prepend=-1))
    n_sessions, sizes = log.n_sessions[starts], np.diff(starts, append=len(log.groups))
    unit = max(1.0, n_sessions.sum() / MOST_GROUPS)
    drawn = np.random.default_rng(seed).random(len(starts))
    copies = np.floor(n_sessions / unit + drawn).astype(np.int64)
    group = np.repeat(np.arange(len(starts)), copies)
    sizes, ends = sizes[group], np.cumsum(sizes[group])
    rows = np.arange(ends[-1]) + np.repeat(starts[group] - ends + sizes, sizes)
    return log._replace(
        X=log.X[rows],
        clicks=log.clicks[rows],
        groups=np.repeat(np.arange(len(group)), sizes),
        positions=log.positions[rows],
        n_sessions=np.full(len(rows), unit),
        examined=log.examined[rows],
    )


# --- methods --------------------------------------------------------------------------


def ours(log: Log, settings: Settings, given=(), **parameters):
    """Fit our trees; `given` are pairs of a name and a column that `fit` is given."""
    return (
        peers.make_sklearn_ltr(settings, **{"regression_weight": 0.0} | parameters)
        .fit(
            log.X,
            log.clicks,
            groups=log.groups,
            sample_weight=log.n_sessions,
            **dict(given),
        )
        .predict
    )


def by_position(bias: str, log: Log, settings: Settings, **parameters):
    given = [("positions", log.positions)]
    return ours(log, settings, given, position_bias=bias, **parameters)


def by_true_propensities(log: Log, settings: Settings):
    return ours(log, settings, [("propensities", log.examined)])


def by_estimated_propensities(log: Log, settings: Settings):
    propensities = np.maximum(log.estimated()[log.positions], SMALLEST)
    return ours(log, settings, [("propensities", propensities)])


def xgboost(log: Log, settings: Settings, **parameters):
    weight = log.n_sessions[log.positions == 0]  # of each group
    booster = peers.train_xgboost(
        log.X, log.clicks, log.groups, settings, weight=weight, **parameters
    )
    return booster.inplace_predict


def xgboost_unbiased(log: Log, settings: Settings):
    log = repeated(log, settings.random_state)
    return xgboost(log, settings, lambdarank_unbiased=True)


def lightgbm(log: Log, settings: Settings, position=None):
    booster = peers.train_lightgbm(
        log.X,
        log.clicks,
        log.groups,
        settings,
        weight=log.n_sessions,
        position=position,
    )
    return partial(booster.predict, num_threads=settings.n_threads)


def lightgbm_position(log: Log, settings: Settings):
    return lightgbm(log, settings, log.positions)


DEFAULT = {"regression_weight": "auto"}
METHODS = {
    "naive": ours,
    "naive, all defaults": partial(ours, **DEFAULT),
    "additive": partial(by_position, "additive"),
    "additive, all defaults": partial(by_position, "additive", **DEFAULT),
    "pairwise": partial(by_position, "pairwise"),
    "true propensities": by_true_propensities,
    (ESTIMATED := "estimated propensities"): by_estimated_propensities,
    "XGBoost naive": xgboost,
    "XGBoost lambdarank_unbiased": xgboost_unbiased,
    "LightGBM naive": lightgbm,
    "LightGBM position": lightgbm_position,
}
LOGGING, GRADES = "logging rankers", "grades"


# --- the study ------------------------------------------------------------------------


def rounds(seeds: int, sessions: list[int]) -> Iterator[tuple[int, int]]:
    """Yield (seed, number of sessions): a seed is one size behind the one before."""
    numbers = itertools.product(range(seeds), range(len(sessions)))
    for seed, size in sorted(numbers, key=lambda n: (n[0] + n[1], n[0])):
        yield seed, sessions[size]


def run(arguments, finished: set[tuple]) -> None:
    for seed, n_sessions in rounds(arguments.seeds, arguments.sessions):
        for data in arguments.data:
            fold = read_fold(data, seed, arguments)
            study = Study(data, fold, seed, finished, arguments.json)
            study.limits()
            for users in arguments.users:
                for strength in arguments.strengths:
                    study.clicks(users, strength, n_sessions, arguments.methods)


class Study:
    """One collection and seed: fits what is not finished, and stores its lines."""

    def __init__(self, data, fold: Fold, seed, finished, path) -> None:
        self.data, self.seed = data, seed
        self.train, _, self.test = fold
        self.finished, self.path = finished, path
        self.settings = replace(SETTINGS, random_state=seed)

    @property
    def rankers(self) -> list[LambdaMARTRanker]:
        return weak_rankers(self.train, self.seed)

    def key(self, users, strength, sessions, method) -> tuple:
        return (self.data, users, strength, sessions, self.seed, method)

    def ndcg(self, scores) -> float:
        return float(NDCG_10(self.test.y, scores, groups=self.test.groups))

    def store(self, key: tuple, **values) -> None:
        record = dict(zip(KEY, key, strict=True)) | values
        append_json(self.path, [record])
        self.finished.add(key)
        print(*key, *(f"{value:.4g}" for value in values.values()), flush=True)

    def limits(self) -> None:
        """Judge the logging rankers, and training on the grades."""
        if (key := self.key(None, None, None, LOGGING)) not in self.finished:
            scores = [ranker.predict(self.test.X) for ranker in self.rankers]
            self.store(key, ndcg=float(np.mean([self.ndcg(s) for s in scores])))
        if (key := self.key(None, None, None, GRADES)) not in self.finished:
            ranker = peers.train_sklearn_ltr(*self.train, self.settings)
            self.store(key, ndcg=self.ndcg(ranker.predict(self.test.X)))

    def clicks(self, users: str, strength: float, n: int, methods: list[str]) -> None:
        """Simulate a log, and learn from it by each method."""
        keys = {name: self.key(users, strength, n, name) for name in methods}
        left = [name for name in methods if keys[name] not in self.finished]
        if not left:
            return
        X = self.train.X
        scores = np.stack([ranker.predict(X) for ranker in self.rankers], axis=1)
        log = collapsed(
            self.train,
            simulated(self.train, scores, users, strength, n, self.seed),
            users,
            strength,
        )
        for name in left:
            start = time.process_time()
            try:
                score = METHODS[name](log, self.settings)
            except ValueError as error:
                if name != ESTIMATED:
                    raise
                # a short log may hold nothing to compare positions by
                print(f"{name}: {error}")
                self.store(keys[name], ndcg=np.nan)
                continue
            self.store(
                keys[name],
                ndcg=self.ndcg(np.asarray(score(self.test.X), dtype=np.float64)),
                n_groups=int(log.groups[-1]) + 1,
                seconds=time.process_time() - start,
            )


def grid(arguments) -> None:
    """Print NDCG@10 on validation queries of the three libraries, trained on grades."""
    stops = (50, 100)
    for leaves, rate in itertools.product((7, 15, 31), (0.05, 0.1)):
        settings = replace(
            SETTINGS,
            n_estimators=max(stops),
            learning_rate=rate,
            max_leaf_nodes=leaves,
        )
        for data, seeds in ("mq2008", range(5)), ("made", range(1)):
            if data not in arguments.data:
                continue
            for library in peers.OURS, "LightGBM", "XGBoost hist":
                values = []
                for seed in seeds:
                    train, validation, _ = read_fold(data, seed, arguments)
                    scores_after = peers.FITS[library](*train, settings)
                    values.append(
                        [
                            NDCG_10(validation.y, scores, groups=validation.groups)
                            for scores in scores_after(validation.X, stops)
                        ]
                    )
                print(
                    f"{leaves:3d} leaves, rate {rate:.2f}, {data:7} {library:14}",
                    *(
                        f"{stop} trees {value:.4f}"
                        for stop, value in zip(
                            stops, np.mean(values, axis=0), strict=True
                        )
                    ),
                    flush=True,
                )


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--mq2008", type=Path, help="mq2008.npz")
    parser.add_argument("--data", nargs="+", choices=["mq2008", "made"])
    parser.add_argument(
        "--queries", type=int, default=MADE_QUERIES, help="of made data"
    )
    parser.add_argument("--users", nargs="+", default=USERS, choices=USERS)
    parser.add_argument("--strengths", type=float, nargs="+", default=STRENGTHS)
    parser.add_argument("--sessions", type=int, nargs="+", default=SESSIONS)
    parser.add_argument("--seeds", type=int, default=5)
    names = list(METHODS)
    parser.add_argument("--methods", nargs="+", default=names, choices=names)
    parser.add_argument("--grid", action="store_true", help="compare settings instead")
    arguments = parser.parse_args()
    if arguments.data is None:
        arguments.data = ["mq2008", "made"] if arguments.mq2008 else ["made"]
    print(machine())
    if arguments.grid:
        grid(arguments)
        return
    path = arguments.json
    records = read_json(path) if path is not None and Path(path).exists() else []
    run(arguments, {tuple(record[name] for name in KEY) for record in records})


if __name__ == "__main__":
    main()
