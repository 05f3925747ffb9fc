"""Wrong grades among the most doubtful ones, and what judging these again wins.

    python -m benchmarks.studies.suspects --data PATH [PATH ...] --json results.jsonl

In each of the five folds of a collection (see queries.py for PATH and the folds), a
fifth of the grades of four parts is changed: "any" to another grade at random,
"next" to a neighbouring one, "long lists" to a neighbouring one, the more often the
longer the list. `suspect_judgments` lists the doubtful ones. Precision is the share of
changed grades among the first 1% and 5% (0.2 by chance). Then the first tenth is judged
again, which gives the grades as they were, and a ranker is fitted again: printed is
NDCG@10 of the fifth part, whose grades were not changed, minus that of a ranker that
learned from all changed grades; beside it, that of as many judged again at random.
"""

from __future__ import annotations

import numpy as np
import sklearn

from benchmarks.tools.paired import minus
from benchmarks.tools.queries import (
    Part,
    add_collections,
    collections,
    has_relevant,
    splits,
)
from benchmarks.tools.records import append_json, machine, parser_of
from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.ensemble import BaggingRanker, BlendedRanker
from sklearn_ltr.inspection import suspect_judgments

SHARE = 0.2
AGAIN = 0.1
FIRST = (0.01, 0.05)
NOISE = ("any", "next", "long lists")


def with_noise(part: Part, kind: str, rng: np.random.Generator) -> np.ndarray:
    """Return the grades, a fifth of them changed."""
    highest, y = int(part.y.max()), part.y.astype(np.int64)
    chance = np.full(len(y), SHARE)
    if kind == "long lists":
        sizes = np.bincount(part.groups)[part.groups].astype(float)
        chance = np.minimum(SHARE * sizes / sizes.mean(), 0.6)
    is_changed = rng.random(len(y)) < chance
    if kind == "any":
        new = (y + rng.integers(1, highest + 1, len(y))) % (highest + 1)
    else:
        new = y + rng.choice([-1, 1], len(y))
        new = np.where((new < 0) | (new > highest), 2 * y - new, new)
    return np.where(is_changed, new, y)


def rankers(seed: int) -> dict:
    trees = LambdaMARTRanker(random_state=seed, n_jobs=1)
    blend = BlendedRanker(random_state=seed)
    return {"LambdaMARTRanker": trees, "BlendedRanker": blend}


def measure(parts: list[Part], kind: str, seed: int) -> dict[str, list]:
    """Return precisions, and NDCG@10 of the queries of all parts, by what was done."""
    found: dict[str, list] = {}
    for number, (clean, test) in enumerate(splits(parts)):
        rng = np.random.default_rng([seed, number])
        noisy = clean._replace(y=with_noise(clean, kind, rng))
        n_again = int(AGAIN * len(noisy.y))

        def ndcg(y: np.ndarray, clean=clean, test=test) -> np.ndarray:
            ranker = BaggingRanker(
                LambdaMARTRanker(n_jobs=1), n_estimators=3, random_state=seed
            )
            return test.ndcg(clean._replace(y=y).fit(ranker).predict(test.X))

        done = {"clean": clean.y, "noisy": noisy.y}
        at_random = rng.permutation(len(noisy.y))[:n_again]
        done["at random"] = noisy.y.copy()
        done["at random"][at_random] = clean.y[at_random]
        for name, ranker in rankers(seed).items():
            suspects = suspect_judgments(ranker, noisy.X, noisy.y, groups=noisy.groups)
            order = suspects.index.to_numpy()
            is_wrong = (noisy.y != clean.y)[order]
            precision = [is_wrong[: int(s * len(order))].mean() for s in FIRST]
            found.setdefault(f"precision, {name}", []).append(precision)
            again = noisy.y.copy()
            again[order[:n_again]] = clean.y[order[:n_again]]
            done[f"doubtful, {name}"] = again
        for name, y in done.items():
            found.setdefault(name, []).append(ndcg(y))
    return found


def main() -> None:
    parser = parser_of(__doc__)
    add_collections(parser)
    parser.add_argument("--seeds", type=int, default=2)
    arguments = parser.parse_args()
    sklearn.set_config(enable_metadata_routing=True)
    print(machine())
    for data, parts in collections(arguments).items():
        relevant = has_relevant(parts)
        for kind in NOISE:
            of_seeds = [measure(parts, kind, seed) for seed in range(arguments.seeds)]
            print(f"\n{data}, {kind}")
            records = []
            for name in of_seeds[0]:
                if name.startswith("precision"):
                    precision = np.mean([each[name] for each in of_seeds], axis=(0, 1))
                    cells = ", ".join(f"{value:.2f}" for value in precision)
                    print(f"{name:28} of the first 1%, 5%: {cells}")
                    of_name = {"precision": precision.round(4).tolist()}
                else:
                    values = np.mean(
                        [np.concatenate(each[name]) for each in of_seeds], axis=0
                    )[relevant]
                    of_name = {"ndcg@10": values.round(5).tolist()}
                records.append({"data": data, "noise": kind, "what": name} | of_name)
            values = {
                r["what"]: np.array(r["ndcg@10"]) for r in records if "ndcg@10" in r
            }
            for name, of_queries in values.items():
                difference = minus(of_queries, values["noisy"])
                print(f"{name:28} {of_queries.mean():.4f}   {difference}")
            append_json(arguments.json, records)


if __name__ == "__main__":
    main()
