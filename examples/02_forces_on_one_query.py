"""Redraw figure 1 of the report: the lambdas of the documents of one query
========================================================================

Run it by ``python examples/02_forces_on_one_query.py [picture.png]``.

A query has sixteen documents, two of them relevant; scores decrease evenly from 1 to 0.
From the left list to the right list, the upper relevant document moves down by three
ranks and the lower one up by five. That reduces the number of pairwise errors, but NDCG
drops from 0.766 to 0.441::

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

The numbers are forces: minus the lambda of each relevant document, divided by sigma.
Positive means that training raises the score. In the picture RankNet's forces are black
and LambdaRank's red, each scaled to its longest arrow.

RankNet's force is larger on the lower relevant document in both lists. LambdaRank's
force is the same times the change of NDCG: in the left list it is almost four times as
large on rank 1 as on rank 15, in the right list equal on rank 4, with three errors
above it, and rank 10, with eight.

With a large sigma only pairs in the wrong order have a force. RankNet's forces then are
the numbers of errors (0 and 13, 3 and 8), and LambdaRank's, too, are larger on the
lower document. The red arrows of the report's figure, largest on the upper document,
are therefore seen only while scores are close to each other.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp

import numpy as np

from sklearn_ltr.inspection import compute_lambdas
from sklearn_ltr.metrics import ndcg_score
from sklearn_ltr.plotting import ForcesDisplay

N_DOCUMENTS = 16
ONE_QUERY = np.zeros(N_DOCUMENTS)
SCORES = np.linspace(1, 0, N_DOCUMENTS)
RELEVANT_RANKS = {"Left list": [1, 15], "Right list": [1 + 3, 15 - 5]}
METRICS = {"RankNet": None, "LambdaRank": "ndcg"}


def lambdas(grades: np.ndarray, sigma: float) -> dict[str, np.ndarray]:
    """Return the gradients of both rankers, divided by sigma."""
    return {
        name: compute_lambdas(SCORES, grades, metric, sigma, groups=ONE_QUERY)[0]
        / sigma
        for name, metric in METRICS.items()
    }


def describe(name: str, ranks: list[int]) -> ForcesDisplay:
    relevant = np.array(ranks) - 1  # scores decrease: row 0 has rank 1
    grades = np.zeros(N_DOCUMENTS)
    grades[relevant] = 1
    ndcg = ndcg_score(grades, SCORES, groups=ONE_QUERY)
    title = f"{name}, NDCG {ndcg:.3f}"
    display = ForcesDisplay(grades, SCORES, lambdas(grades, sigma=1.0), name=title)
    print(f"{title}: {display.pairwise_errors} pairwise errors")
    print(" " * 23 + "".join(f"{f'rank {rank}':>10}" for rank in ranks))
    for sigma, note in (1.0, ""), (16.0, ", sigma=16"):
        for ranker, gradient in lambdas(grades, sigma).items():
            forces = "".join(f"{-value:10.2f}" for value in gradient[relevant])
            print(f"  {ranker + note:<21}{forces}")
    print()
    return display


def main(path: str | None = None) -> None:
    displays = [describe(name, ranks) for name, ranks in RELEVANT_RANKS.items()]
    if find_spec("matplotlib") is None:
        print('No picture without matplotlib: pip install "sklearn_ltr[plot]"')
        return
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(9.5, 6.5), layout="constrained")
    for display, ax in zip(displays, axes, strict=True):
        display.plot(ax)
    picture = Path(mkdtemp()) / "forces.png" if path is None else Path(path)
    figure.savefig(picture, dpi=150)
    print(f"The picture is in {picture}")


if __name__ == "__main__":
    main(*sys.argv[1:])
