"""Which correction of clicks wins, by what the rankers are judged by.

    python -m benchmarks.clicks.clicks_judges --data mq2008.npz websearch.npz \
        --json RESULTS

Two weak rankers (see `clicks_protocol.py`) show lists of 10 to users. They look at
position k, from 0, with probability 1 / (1 + k). Seed s is fold s. The log of the
training queries is split by time: rankers learn from the first 70% of its sessions.
Each method is then judged four times:

- by the clicks that it has learned from,
- by the later clicks on the same queries,
- by the clicks of a log of other queries, those of the test part,
- by the grades of these queries (NDCG@10).

Clicks judge by `counterfactual_score` (DCG@10), with the propensities that
`InterventionHarvesting` finds in the training log. All rankers have the defaults of the
package. `tables.py` makes the table.
"""

from __future__ import annotations

import numpy as np

from benchmarks.clicks.clicks_protocol import NDCG_10, simulated, weak_rankers
from benchmarks.tools.queries import Part, add_collections, collections, folds
from benchmarks.tools.records import append_json, machine, parser_of
from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.clicks import InterventionHarvesting, counterfactual_score
from sklearn_ltr.model_selection import group_train_test_split

METHODS = ("naive", "propensities", "pairwise", "additive")
LEARNED, LATER, OTHERS, GRADES = (
    "clicks learned from",
    "later clicks, same queries",
    "clicks, other queries",
    "grades, other queries",
)
USERS, STRENGTH, TRAINED = "pbm", 1.0, 0.7
COLUMNS = ("groups", "documents", "positions", "sessions")


def log_of(part: Part, rankers, n_sessions: int, seed: int) -> dict[str, np.ndarray]:
    """Return the columns of a simulated log, sessions in the order of time."""
    scores = np.stack([ranker.predict(part.X) for ranker in rankers], axis=1)
    log = simulated(part, scores, USERS, STRENGTH, n_sessions, seed)
    return {name: log[name] for name in ("clicks", *COLUMNS)}


def split_by_time(log: dict[str, np.ndarray]) -> list[dict[str, np.ndarray]]:
    """Return the first and the last sessions of a log."""
    rows = np.arange(len(log["clicks"]))
    parts = group_train_test_split(
        rows, groups=log["sessions"], order=log["sessions"], test_size=1 - TRAINED
    )[:2]
    return [{name: values[part] for name, values in log.items()} for part in parts]


def fitted(method: str, part: Part, log, propensities: np.ndarray, seed: int):
    """Return a ranker that has learned from a log, corrected by one method."""
    given = {}
    if method == "propensities":
        given = {"propensities": propensities[log["positions"]]}
    elif method != "naive":
        given = {"positions": log["positions"]}
    bias = method if "positions" in given else None
    ranker = LambdaMARTRanker(position_bias=bias, random_state=seed, n_jobs=1)
    X = part.X[log["documents"]]
    return ranker.fit(X, log["clicks"], groups=log["sessions"], **given)


def dcg_by_clicks(scores: np.ndarray, log, propensities: np.ndarray) -> float:
    """Return the DCG@10 of scores of documents, estimated from a log."""
    names = ("groups", "positions", "sessions")
    return counterfactual_score(
        log["clicks"],
        scores[log["documents"]],
        **{name: log[name] for name in names},
        propensities=propensities,
    ).value


def judge(train: Part, test: Part, n_sessions: int, seed: int) -> list[dict]:
    """Return the value of each method by each judge."""
    rankers = weak_rankers(train, seed)
    first, last = split_by_time(log_of(train, rankers, n_sessions, seed))
    other = log_of(test, rankers, n_sessions, seed)
    given = {name: first[name] for name in COLUMNS}
    harvesting = InterventionHarvesting().fit(first["clicks"], **given)
    propensities = np.clip(harvesting.propensities_, 0.01, 1)
    results = []
    for method in METHODS:
        ranker = fitted(method, train, first, propensities, seed)
        seen, new = ranker.predict(train.X), ranker.predict(test.X)
        values = {
            LEARNED: dcg_by_clicks(seen, first, propensities),
            LATER: dcg_by_clicks(seen, last, propensities),
            OTHERS: dcg_by_clicks(new, other, propensities),
            GRADES: float(NDCG_10(test.y, new, groups=test.groups)),
        }
        for by, value in values.items():
            results.append({"judge": by, "method": method, "value": value})
    return results


def main() -> None:
    parser = parser_of(__doc__)
    add_collections(parser)
    parser.add_argument("--sessions", type=int, default=20_000)
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    print(machine())
    for name, parts in collections(arguments).items():
        for seed in range(arguments.seeds):
            train, _, test = folds(parts)[seed % 5]
            about = {
                "data": name.removesuffix(".npz"),
                "sessions": arguments.sessions,
                "seed": seed,
            }
            found = judge(train, test, arguments.sessions, seed)
            append_json(arguments.json, [about | one for one in found])
            for one in found:
                print(*(about | one).values(), flush=True)


if __name__ == "__main__":
    main()
