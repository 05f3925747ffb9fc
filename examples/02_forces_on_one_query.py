"""Redraw figure 1 of the report: what pulls at the documents of one query.

    python examples/02_forces_on_one_query.py [picture.png]

Sixteen documents, two of them relevant; their scores fall evenly from 1 to 0.  From the
left list to the right one, the upper relevant document goes down by three ranks and the
lower one up by five.  That makes fewer pairwise errors, and a far worse NDCG:

    Left list, NDCG 0.766: 13 pairwise errors
                               rank 1   rank 15
      RankNet                    5.30      8.45
      LambdaRank                 2.07      0.56
      RankNet, sigma=16          0.42     12.83
      LambdaRank, sigma=16       0.11      0.83

    Right list, NDCG 0.441: 11 pairwise errors
                               rank 4   rank 10
      RankNet                    5.93      7.29
      LambdaRank                 0.62      0.62
      RankNet, sigma=16          3.02      8.00
      LambdaRank, sigma=16       0.49      0.92

The numbers are the pushes upwards, divided by sigma.  The picture has RankNet's in
black and LambdaRank's in red, each scaled to its longest arrow.

RankNet pushes the lower document harder in both lists, and those that are not relevant
down about alike, wherever they stand.  LambdaRank, the same force times the change of
NDCG, holds rank 1 of the left list almost four times as hard as it lifts rank 15.  In
the right list it pushes rank 4, with three errors above it, as hard as rank 10 with
eight; and the others down the harder, the nearer they stand to the top.

The report's red arrows are a wish.  LambdaRank comes near it while scores are close: a
steep sigmoid leaves little but the pairs in wrong order.  RankNet's pushes are then the
errors themselves, 0 and 13, 3 and 8, and LambdaRank's, too, are for the lower document.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp

import numpy as np

from sklearn_ltr._queries import QueryGroups
from sklearn_ltr.lambdas import compute_lambdas
from sklearn_ltr.metrics import ndcg_score
from sklearn_ltr.plotting import ForcesDisplay

N_DOCUMENTS = 16
SCORES = np.linspace(1, 0, N_DOCUMENTS)
RELEVANT_RANKS = {"Left list": [1, 15], "Right list": [1 + 3, 15 - 5]}
METRICS = {"RankNet": None, "LambdaRank": "ndcg"}


def lambdas(grades: np.ndarray, sigma: float) -> dict[str, np.ndarray]:
    query = QueryGroups.single(N_DOCUMENTS)
    return {
        force: compute_lambdas(SCORES, grades, query, metric, sigma)[0] / sigma
        for force, metric in METRICS.items()
    }


def describe(name: str, ranks: list[int]) -> ForcesDisplay:
    relevant = np.array(ranks) - 1  # scores fall, so rows are in the order of the list
    grades = np.zeros(N_DOCUMENTS)
    grades[relevant] = 1
    ndcg = ndcg_score(grades, SCORES, groups=np.zeros(N_DOCUMENTS))
    title = f"{name}, NDCG {ndcg:.3f}"
    display = ForcesDisplay(grades, SCORES, lambdas(grades, sigma=1.0), name=title)
    print(f"{title}: {display.pairwise_errors} pairwise errors")
    print(" " * 23 + "".join(f"{f'rank {rank}':>10}" for rank in ranks))
    for sigma, note in (1.0, ""), (16.0, ", sigma=16"):
        for force, gradient in lambdas(grades, sigma).items():
            pushes = "".join(f"{-push:10.2f}" for push in gradient[relevant])
            print(f"  {force + note:<21}{pushes}")
    print()
    return display


def main(path: str | None = None) -> None:
    displays = [describe(name, ranks) for name, ranks in RELEVANT_RANKS.items()]
    if find_spec("matplotlib") is None:
        print('No picture without matplotlib: pip install "sklearn_ltr[plot]"')
        return
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.5, 6.5), layout="constrained")
    for display, ax in zip(displays, figure.subplots(1, 2), strict=True):
        display.plot(ax)
    picture = Path(mkdtemp()) / "forces.png" if path is None else Path(path)
    figure.savefig(picture, dpi=150)
    print(f"The picture is in {picture}")


if __name__ == "__main__":
    main(*sys.argv[1:])
