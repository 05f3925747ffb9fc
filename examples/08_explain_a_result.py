"""Why is this result above that one? SHAP values of a ranker of trees
===================================================================

Run it by ``python examples/08_explain_a_result.py``.

A LambdaMART ranker is trained on queries about Python's documentation. For one unseen
query, SHAP values say what each feature adds to the score of each document; they sum to
the score, exactly. The difference of the values of two documents says why one is above
the other: a positive number is a reason for the upper one.

Nothing is downloaded: the data are made on this machine in some seconds. With Python
3.11.7 the output ends like this::

    "A handler class which buffers logging records in memory."
    rank 1, score +2.983: logging.handlers.MemoryHandler.flush
    rank 2, score +2.535: logging.handlers.MemoryHandler.shouldFlush

    why rank 1 is above rank 2            values      adds
    bm25_to_best                        1, 0.941    +0.440
    module_share                    0.662, 0.662    +0.112
    bm25_rest                            12.2, 0    -0.107
    bm25_code                         13.9, 12.1    +0.101
    bm25_all                          20.7, 19.5    +0.051
    18 other features                               -0.150
    difference of the scores                        +0.448

A feature may add more to one document than to another of the same value, because trees
combine it with others.

The pictures show the pair, and all documents of the list. With the package shap
installed, `result.to_explanation()` is what its own plots take.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
from python_docs import load_python_docs
from sklearn.model_selection import GroupShuffleSplit

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.inspection import shap_values
from sklearn_ltr.plotting import ShapHeatmapDisplay, ShapValuesDisplay

N_SHOWN = 5  # features


def draw(ranker, X: np.ndarray, upper: int, lower: int) -> None:
    if find_spec("matplotlib") is None:
        print("\nWithout matplotlib there are no pictures.")
        return
    import matplotlib

    matplotlib.use("Agg")
    folder = Path(mkdtemp())
    pair = ShapValuesDisplay.from_estimator(ranker, X, document=upper, other=lower)
    pair.figure_.savefig(folder / "pair.png")
    ShapHeatmapDisplay.from_estimator(ranker, X).figure_.savefig(folder / "list.png")
    print(f"\nThe pictures: {folder}/pair.png, list.png")


def main() -> None:
    docs = load_python_docs()
    X, y, groups = docs.data, docs.target, docs.groups
    split = GroupShuffleSplit(n_splits=1, test_size=0.3, random_state=0)
    train, test = next(split.split(X, y, groups))
    ranker = LambdaMARTRanker(random_state=0)
    ranker.fit(X[train], y[train], groups=groups[train])

    query = groups[test][0]
    rows = np.flatnonzero(groups == query)
    scores = ranker.predict(X[rows])
    upper, lower = np.argsort(-scores, kind="stable")[:2]
    print(f'"{docs.queries[query]}"')
    for rank, document in enumerate((upper, lower), start=1):
        name = docs.documents[rows[document]]
        print(f"rank {rank}, score {scores[document]:+.3f}: {name}")

    result = shap_values(ranker, X[rows])
    difference = result.difference(upper, lower)
    print(f"\n{'why rank 1 is above rank 2':28}{'values':>16}{'adds':>10}")
    order = np.argsort(-np.abs(difference), kind="stable")
    for feature in order[:N_SHOWN]:
        values = ", ".join(f"{x:.3g}" for x in X[rows[[upper, lower]], feature])
        name = docs.feature_names[feature]
        print(f"{name:28}{values:>16}{difference[feature]:+10.3f}")
    others = difference[order[N_SHOWN:]].sum()
    print(f"{f'{len(order) - N_SHOWN} other features':44}{others:+10.3f}")
    print(f"{'difference of the scores':44}{difference.sum():+10.3f}")
    draw(ranker, X[rows], int(upper), int(lower))


if __name__ == "__main__":
    main()
