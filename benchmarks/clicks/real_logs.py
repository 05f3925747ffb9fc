"""Three real logs: which rows may be in the test, and what a naive split would say.

    python -m benchmarks.clicks.real_logs --json RESULTS
    python -m benchmarks.clicks.real_logs --logs "Swissmetro" --seeds 1

Wheels of the Python package index carry the logs; `pip download` brings them into a
folder (`--cache`), and only the files of the log are read.

- "Open Bandit" (obp; Saito et al., NeurIPS 2021 data sets): what a fashion shop showed
  in a week, and whether it was clicked. A query has what one kind of user (of the same
  four hashed attributes) was shown in one campaign, under one policy, on one day. The
  right test is later: days after those of training.
- "Swissmetro" (biogeme; Bierlaire, Axhausen and Abay, 2001): which of three ways of
  travelling a person would choose; each of 1,192 persons was asked nine times. A query
  is a choice. The right test has other persons.
- "MovieLens" (recbole; Harper and Konstan, 2015): ratings of MovieLens 100K. A query is
  a session, the ratings of one user without a pause of half an hour, of five or more. A
  rating knows what the user and others have rated before the session. The right test is
  later.

Five folds by the right split, and five of the naive one, by query. Where the right one
is by time, the naive one has the same test queries and as many training queries, drawn
from all others, so that only the future is added. The rankers have their defaults:
LambdaMARTRanker, LightGBM's LGBMRanker, and a baseline that learns nothing or a mean.
Each seed draws other folds (folds by time are what they are) and other trees.
`compare_rankers` compares the held-out scores of all folds, by users. "optimism" is the
same for the scores of one ranker by query, minus those by the right split. `tables.py`
makes the table.
"""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from lightgbm import LGBMRanker
from sklearn.model_selection import GroupKFold

from benchmarks.tools.peers import query_sizes
from benchmarks.tools.records import append_json, machine, parser_of
from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.metrics import NDCG
from sklearn_ltr.model_selection import (
    GroupTimeSeriesSplit,
    RankerComparison,
    UserKFold,
    compare_rankers,
)

CACHE = Path.home() / ".cache" / "sklearn_ltr_logs"
NDCG_10 = NDCG(10, no_relevant="skip")
OURS, LIGHTGBM = "LambdaMARTRanker", "LightGBM"
N_FOLDS, BY_QUERY = 5, "by query"
PAUSE = 30 * 60  # seconds between two sessions of a user
SHORTEST = 5  # ratings of a session
PRIOR = 5  # ratings of the mean that a short history is drawn to

Folds = Iterator[tuple[np.ndarray, np.ndarray]]


class Log(NamedTuple):
    """Rows of a log, those of a query together."""

    X: pd.DataFrame  # categories have the dtype "category"
    y: np.ndarray
    groups: np.ndarray
    users: np.ndarray
    order: np.ndarray
    right: str  # "by user" or "by time"
    baseline: str
    # scores of test rows, given the training rows and these
    by_baseline: Callable[[np.ndarray, np.ndarray], np.ndarray]

    def folds(self, split: str, seed: int) -> Folds:
        """Yield the training and test rows of each fold."""
        if self.right == "by user":
            drawn = {"shuffle": True, "random_state": seed}
            if split == BY_QUERY:
                folds = GroupKFold(N_FOLDS, **drawn).split(self.X, self.y, self.groups)
            else:
                folds = UserKFold(N_FOLDS, **drawn).split(
                    self.X, self.y, self.groups, self.users
                )
            yield from folds
            return
        rng, every = np.random.default_rng(seed), np.unique(self.groups)
        by_time = GroupTimeSeriesSplit(N_FOLDS)
        for train, test in by_time.split(self.X, self.y, self.groups, self.order):
            if split == BY_QUERY:  # as many queries, of any time
                others = np.setdiff1d(every, self.groups[test])
                n = len(np.unique(self.groups[train]))
                drawn = rng.choice(others, n, replace=False)
                train = np.flatnonzero(np.isin(self.groups, drawn))
            yield np.sort(train), np.sort(test)


# --- the logs -------------------------------------------------------------------------


def wheel(requirement: str, cache: Path) -> zipfile.ZipFile:
    """Return the wheel of a package, downloaded if the cache does not have it."""
    name, _, version = requirement.partition("==")
    if not (found := list(cache.glob(f"{name}-{version}-*.whl"))):
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet"]
        only = ["--only-binary", ":all:", "--dest", str(cache), requirement]
        subprocess.run([*command, *only], check=True)
        found = list(cache.glob(f"{name}-{version}-*.whl"))
    return zipfile.ZipFile(found[0])


def numbered(table: pd.DataFrame, columns: list[str]) -> np.ndarray:
    """Return the number of the group that equal values of columns make, (n_rows,)."""
    return table.groupby(columns, sort=False).ngroup().to_numpy()


def open_bandit(cache: Path) -> Log:
    archive, parts = wheel("obp==0.4.1", cache), []
    attributes = [f"user_feature_{i}" for i in range(4)]
    features = [f"item_feature_{i}" for i in range(4)]
    for policy in ("random", "bts"):
        for campaign in ("all", "men", "women"):
            folder = f"obp/dataset/obd/{policy}/{campaign}"
            with archive.open(f"{folder}/{campaign}.csv") as file:
                part = pd.read_csv(file, index_col=0)
            with archive.open(f"{folder}/item_context.csv") as file:
                items = pd.read_csv(file, index_col=0).set_index("item_id")
            of_items = part.filter(like="user-item_affinity_").to_numpy()
            part["affinity"] = of_items[np.arange(len(part)), part["item_id"]]
            part = part.join(items[features], on="item_id")
            part["item"] = campaign + "/" + part["item_id"].astype(str)
            parts.append(part.assign(policy=policy, campaign=campaign))
    table = pd.concat(parts, ignore_index=True)
    table["day"] = pd.to_datetime(table["timestamp"].str[:10])
    query = ["policy", "campaign", "day", *attributes]
    table["query"] = numbered(table, query)
    table = table.sort_values("query", kind="stable")
    text = ["item", *features[1:], *attributes]
    X = table[["affinity", features[0], *text]].astype(dict.fromkeys(text, "category"))
    clicked, item = table["click"].to_numpy(), X["item"].cat.codes.to_numpy()

    def click_rate(train: np.ndarray, test: np.ndarray) -> np.ndarray:
        n = len(X["item"].cat.categories)
        shown = np.bincount(item[train], minlength=n)
        clicks = np.bincount(item[train], clicked[train], minlength=n)
        few = 100 * clicked[train].mean()  # clicks of 100 showings
        return ((clicks + few) / (shown + 100))[item[test]]

    return Log(
        X,
        clicked,
        table["query"].to_numpy(),
        numbered(table, attributes),
        table["day"].to_numpy(),
        "by time",
        "click rate of the item",
        click_rate,
    )


def swissmetro(cache: Path) -> Log:
    with wheel("biogeme==3.3.2", cache).open("biogeme/data/data/swissmetro.dat") as f:
        wide = pd.read_csv(f, sep="\t")
    wide = wide[wide["CHOICE"] > 0].reset_index(drop=True)
    person = "SURVEY PURPOSE FIRST TICKET WHO LUGGAGE AGE MALE INCOME GA".split()
    person += ["ORIGIN", "DEST"]
    parts = []
    for number, mode in enumerate(("TRAIN", "SM", "CAR"), start=1):
        part = wide[person].assign(mode=mode, query=wide.index, user=wide["ID"])
        for name in ("TT", "CO", "HE", "SEATS"):
            column = f"{mode}_{name}"
            part[name] = wide[column] if column in wide else np.nan
        part["chosen"] = wide["CHOICE"] == number
        parts.append(part[wide[f"{mode}_AV"] == 1])
    table = pd.concat(parts).sort_values("query", kind="stable")
    time = table["TT"].to_numpy()
    text = ["mode", "ORIGIN", "DEST"]
    X = table[[*person, "mode", "TT", "CO", "HE", "SEATS"]]
    return Log(
        X.astype(dict.fromkeys(text, "category")),
        table["chosen"].to_numpy().astype(int),
        table["query"].to_numpy(),
        table["user"].to_numpy(),
        np.zeros(len(table)),  # no dates
        "by user",
        "shortest time",
        lambda train, test: -time[test],
    )


def movielens(cache: Path) -> Log:
    archive, folder = wheel("recbole==1.2.1", cache), "recbole/dataset_example/ml-100k"
    tables = {}
    for name in ("inter", "item", "user"):
        with archive.open(f"{folder}/ml-100k.{name}") as file:
            table = pd.read_csv(file, sep="\t")
        tables[name] = table.rename(columns=lambda column: column.partition(":")[0])
    items, users = (tables[n].set_index(f"{n}_id") for n in ("item", "user"))
    items["release_year"] = pd.to_numeric(items["release_year"], errors="coerce")
    table = tables["inter"].sort_values(["user_id", "timestamp"], kind="stable")
    pause = table.groupby("user_id")["timestamp"].diff()
    table["query"] = (pause.isna() | (pause > PAUSE)).cumsum()
    table["start"] = table.groupby("query")["timestamp"].transform("min")
    genres = items["class"].fillna("").str.get_dummies(" ").add_prefix("genre ")
    table = table.join(items["release_year"], on="item_id")
    table = table.join(genres, on="item_id").join(users, on="user_id")
    table = table.reset_index(drop=True)
    # what was known when the session began
    before = [
        history(table, ["item_id"]).add_prefix("item "),
        history(table, ["user_id"]).add_prefix("user "),
        of_genres(table, list(genres)),
    ]
    table = pd.concat([table, *before], axis=1)
    size = table.groupby("query")["item_id"].transform("size")
    table = table[size >= SHORTEST].reset_index(drop=True)
    text = ["item_id", "gender", "occupation"]
    known = [column for part in before for column in part]
    X = table[["release_year", "age", *genres, *known, *text]]
    item_mean = table["item mean"].to_numpy()
    return Log(
        X.astype(dict.fromkeys(text, "category")),
        table["rating"].to_numpy(),
        table["query"].to_numpy(),
        table["user_id"].to_numpy(),
        table["start"].to_numpy(),
        "by time",
        "mean rating of the film",
        lambda train, test: item_mean[test],
    )


def history(table: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Return the number and the mean of the ratings of equal keys before the session.

    The mean is drawn to 3.5 by `PRIOR` ratings.
    """
    key = numbered(table, keys)
    rated = pd.DataFrame({"key": key, "at": table["timestamp"], "n": 1})
    rated["sum"] = table["rating"]
    sums = rated.groupby(["key", "at"])[["n", "sum"]].sum().groupby(level="key")
    sums = sums.cumsum().reset_index().sort_values("at")
    asked = pd.DataFrame({"key": key, "at": table["start"], "row": np.arange(len(key))})
    found = pd.merge_asof(
        asked.sort_values("at"), sums, on="at", by="key", allow_exact_matches=False
    )
    found = found.set_index("row").sort_index().fillna(0.0)
    mean = (found["sum"] + 3.5 * PRIOR) / (found["n"] + PRIOR)
    return pd.DataFrame({"ratings": found["n"], "mean": mean})


def of_genres(table: pd.DataFrame, genres: list[str]) -> pd.DataFrame:
    """Return the mean of the user's mean ratings of the genres of the film, before."""
    total, n = np.zeros(len(table)), np.zeros(len(table))
    for genre in genres:
        has = table[genre].to_numpy() == 1
        mean = history(table, ["user_id", genre])["mean"].to_numpy()
        total[has] += mean[has]
        n += has
    return pd.DataFrame({"user's genres mean": total / np.maximum(n, 1)})


LOGS = {"Open Bandit": open_bandit, "Swissmetro": swissmetro, "MovieLens": movielens}


# --- the study ------------------------------------------------------------------------


def held_out(log: Log, split: str, seed: int) -> dict[str, np.ndarray]:
    """Return scores of rows by rankers of the training rows of their fold, NaN: none.

    Scores of different folds are those of different queries.
    """
    scores: dict[str, np.ndarray] = {}
    for train, test in log.folds(split, seed):
        X, y, groups = log.X.iloc[train], log.y[train], log.groups[train]
        ours = LambdaMARTRanker(random_state=seed, n_jobs=1).fit(X, y, groups=groups)
        theirs = LGBMRanker(random_state=seed, n_jobs=1, verbose=-1)
        theirs.fit(X, y, group=query_sizes(groups))
        new = log.X.iloc[test]
        for name, found in (
            (log.baseline, log.by_baseline(train, test)),
            (LIGHTGBM, theirs.predict(new)),
            (OURS, ours.predict(new)),
        ):
            scores.setdefault(name, np.full(len(log.y), np.nan))[test] = found
    return scores


def compare(log: Log, scores: dict[str, np.ndarray]) -> RankerComparison:
    """Compare rankers on the queries that were tested, by users."""
    rows = ~np.isnan(next(iter(scores.values())))
    return compare_rankers(
        {name: of_ranker[rows] for name, of_ranker in scores.items()},
        None,
        log.y[rows],
        groups=log.groups[rows],
        users=log.users[rows],
        metric=NDCG_10,
    )


def numbers(comparison: RankerComparison) -> list[dict]:
    """Return the differences, and their errors as if queries were independent."""
    pairs = zip(comparison.pairs, comparison.by_query.pairs, strict=True)
    return [one._asdict() | {"naive": as_if._asdict()} for one, as_if in pairs]


def study(name: str, log: Log, seed: int) -> list[dict]:
    """Return the records of a seed: of both splits, and of their difference."""
    of_split = {split: held_out(log, split, seed) for split in (log.right, BY_QUERY)}
    records = []
    for split, scores in of_split.items():
        comparison = compare(log, scores)
        print(f"{name}, {split}, seed {seed}\n{comparison}\n", flush=True)
        record = {"log": name, "split": split, "seed": seed}
        record |= {"n_queries": comparison.n_queries, "n_users": comparison.n_users}
        record |= {"means": comparison.means, "pairs": numbers(comparison)}
        records.append(record)
    optimism = {}
    for ranker in scores:
        of_ranker = {split: found[ranker] for split, found in of_split.items()}
        (optimism[ranker],) = numbers(compare(log, of_ranker))
    return [*records, {"log": name, "seed": seed, "optimism": optimism}]


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--logs", nargs="+", default=list(LOGS), choices=list(LOGS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--cache", type=Path, default=CACHE, help="folder of wheels")
    arguments = parser.parse_args()
    print(machine())
    for name in arguments.logs:
        log = LOGS[name](arguments.cache)
        for seed in range(arguments.seeds):
            append_json(arguments.json, study(name, log, seed))


if __name__ == "__main__":
    main()
