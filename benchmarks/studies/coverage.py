"""How often intervals of `compare_rankers` hold the true difference of two rankers.

    python -m benchmarks.studies.coverage --json results.jsonl

Both rankers please each user more or less: the score of the only relevant document of
a query is that of its user, drawn for each ranker, plus noise.  Users are drawn alike
for both rankers, so the true difference is 0.  Printed is how many intervals of 95%
hold it, with `users` and without, for users of 1, 3 and 10 queries each, and for users
of 1 to 19 queries; in brackets the standard error of the simulation.
"""

from __future__ import annotations

import numpy as np

from benchmarks.tools.records import append_json, machine, parser_of
from sklearn_ltr.model_selection import compare_rankers

N_DOCUMENTS = 10
N_USERS = (20, 100)
SIZES = {"1": (1, 1), "3": (3, 3), "10": (10, 10), "1 to 19": (1, 19)}


def is_held(rng: np.random.Generator, n_users: int, low: int, high: int) -> list[bool]:
    """Return whether the intervals by user, and by query, hold the difference 0."""
    n_queries = rng.integers(low, high + 1, n_users)
    user = np.repeat(np.arange(n_users), n_queries)  # of each query
    groups = np.repeat(np.arange(len(user)), N_DOCUMENTS)
    y = np.tile(np.arange(N_DOCUMENTS) == 0, len(user)).astype(float)
    scores = [
        y * (1 + rng.normal(size=n_users))[user[groups]] + rng.normal(size=len(y))
        for _ in range(2)
    ]
    found = compare_rankers(
        scores, None, y, groups=groups, users=user[groups], n_resamples=999
    )
    pairs = found.pairs[0], found.by_query.pairs[0]
    return [pair.low <= 0 <= pair.high for pair in pairs]


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--repetitions", type=int, default=1000)
    args = parser.parse_args()
    print(machine())
    for n_users in N_USERS:
        for queries, (low, high) in SIZES.items():
            rng = np.random.default_rng([n_users, low, high])
            held = np.mean(
                [is_held(rng, n_users, low, high) for _ in range(args.repetitions)],
                axis=0,
            )
            result = {
                "n_users": n_users,
                "queries": queries,
                "repetitions": args.repetitions,
                "by_user": held[0],
                "by_query": held[1],
            }
            print(result)
            append_json(args.json, [result])


if __name__ == "__main__":
    main()
