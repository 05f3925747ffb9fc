"""What knowing which grades are unsure is worth: NDCG@10 with `document_weight`.

    python benchmarks/document_weights.py --seeds 10

Rankers learn from made data of which a third of the documents have a wrong grade:
*flipped*, the highest grade minus the true one, or *drawn*, that of a random document.
Documents that are said to be wrong weigh 0.2, the others 1.  What is said is nothing;
the truth; or the truth for 80% of the documents, and the contrary for the others.
Beside them: wrong ones of weight 0.01, or left out of the rows, and all grades right.
Printed is NDCG@10 of other queries with their true grades, the mean over seeds (each of
other data and other wrong grades), and the difference from saying nothing with its
paired standard error.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.stats import sem

import peers
from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.metrics import NDCG

SHARE, RIGHT, UNSURE = 1 / 3, 0.8, 0.2  # wrong grades; right in noisy knowledge; weight
NOTHING = "nothing said"
RANKERS = {
    "LambdaMARTRanker": LambdaMARTRanker,
    "LambdaRankRanker": LambdaRankRanker,
    "RankNetRanker": RankNetRanker,
}


def wrong_grades(y: np.ndarray, kind: str, rng: np.random.Generator) -> np.ndarray:
    return y.max() - y if kind == "flipped" else rng.choice(y, len(y))


def values_of(name: str, kind: str, n_queries: int, seed: int) -> dict[str, float]:
    """Return NDCG@10 of the same ranker with each knowledge of the wrong grades."""
    # one ranking function: the second half of the queries are others
    data = make_ranking(2 * n_queries, n_features=20, random_state=seed)
    is_train, rng = data.groups < n_queries, np.random.default_rng(seed)
    X, y, groups = (a[is_train] for a in (data.data, data.target, data.groups))
    is_wrong = rng.random(len(y)) < SHARE
    noisy = np.where(is_wrong, wrong_grades(y, kind, rng), y)
    said = is_wrong ^ (rng.random(len(y)) > RIGHT)

    def value(y, rows=slice(None), **weights):
        options = {"n_jobs": 1, "random_state": seed}
        ranker = RANKERS[name](**options)
        ranker.fit(X[rows], y[rows], groups=groups[rows], **weights)
        scores = ranker.predict(data.data[~is_train])
        of = {"groups": data.groups[~is_train]}
        return NDCG(10)(data.target[~is_train], scores, **of)

    return {
        NOTHING: value(noisy),
        "noisy knowledge": value(noisy, document_weight=np.where(said, UNSURE, 1.0)),
        "true knowledge": value(noisy, document_weight=np.where(is_wrong, UNSURE, 1.0)),
        "true, weight 0.01": value(noisy, document_weight=np.where(is_wrong, 0.01, 1)),
        "wrong left out": value(noisy, ~is_wrong),
        "all grades right": value(y),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rankers", nargs="+", choices=RANKERS, default=list(RANKERS))
    peers.add_json_argument(parser)
    arguments = parser.parse_args()
    print(peers.machine())
    for kind in ("flipped", "drawn"):
        for name in arguments.rankers:
            of_seeds = [
                values_of(name, kind, arguments.queries, seed)
                for seed in range(arguments.seeds)
            ]
            print(f"{name}, a third {kind}, {arguments.queries} queries")
            for said in of_seeds[0]:
                values = np.array([of_seed[said] for of_seed in of_seeds])
                gain = values - [of_seed[NOTHING] for of_seed in of_seeds]
                row = f"  {said:18}{values.mean():8.4f}"
                if said != NOTHING and len(gain) > 1:
                    row += f"{gain.mean():+10.4f} ({sem(gain):.4f})"
                print(row, flush=True)
                record = {"ranker": name, "wrong": kind, "said": said}
                record |= {"queries": arguments.queries, "ndcg@10": values.tolist()}
                peers.append_json(arguments.json, [record])


if __name__ == "__main__":
    main()
