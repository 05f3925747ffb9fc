"""Search Python's documentation better than BM25
==============================================

Run it by ``python 01_first_ranker.py``. Nothing is downloaded.
Needs ``python -m pip install .``, and ``".[examples]"`` for its picture.

The documents are the functions, methods and classes of the Python that runs this. A
query is the first sentence of one of their docstrings, and the search does not see
this sentence. SQLite finds up to 50 documents for each query and orders them by BM25.
LambdaMART learns from some of the queries to order them better. The grade is 3 for the
document with the sentence, 2 for others of its class, and 1 for others of its module.

The queries are divided into five parts. For each part, a model is trained on the other
four. So every query is measured, by a model that has not seen it.
"""

# sphinx_gallery_thumbnail_path = "_static/thumbnails/01_first_ranker.svg"
from __future__ import annotations

import time
from importlib.util import find_spec
from pathlib import Path
from tempfile import gettempdir

import numpy as np
from scipy.stats import sem
from sklearn.model_selection import GroupKFold

from python_docs import load_python_docs
from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.metrics import MAP, MRR, NDCG

# %%
# The data
# --------
# A row is a pair of a query and a document: `X` has its features, of which BM25 is one,
# `y` its grade and `groups` its query.
print("Reading the documentation of this Python ...", flush=True)
docs = load_python_docs()
X, y, groups = docs.data, docs.target, docs.groups
print(docs.DESCR)

# %%
# Train and rank
# --------------
print("Training. The first run compiles code for this CPU, for 10 to 30 s.", flush=True)
start = time.perf_counter()
scores = np.empty(len(y))
for part, (train, test) in enumerate(GroupKFold(5).split(X, y, groups), start=1):
    ranker = LambdaMARTRanker(metric="ndcg@10", random_state=0)
    ranker.fit(X[train], y[train], groups=groups[train])
    scores[test] = ranker.predict(X[test])
    print(
        f"part {part} of 5: trained on {len(np.unique(groups[train])):,} queries, "
        f"{time.perf_counter() - start:5.1f} s so far",
        flush=True,
    )

# %%
# Gain over BM25
# --------------
# NDCG uses all grades. For MAP every document above grade 0 is relevant, and for MRR
# only the document of the query's sentence. The standard error is that of the mean
# difference of the two rankings of the same query.
bm25 = X[:, docs.feature_names.index("bm25")]
METRICS = {
    "NDCG@10": NDCG(10),
    "MAP": MAP(),
    "MRR": MRR(relevant_from=3),
}
gains = {}
print(f"{len(docs.queries):,} unseen queries    BM25   LambdaMART     gain   ± error")
for name, metric in METRICS.items():
    before = metric.per_query(y, bm25, groups=groups)
    after = metric.per_query(y, scores, groups=groups)
    gains[name] = after - before
    print(
        f"{name:<20}{before.mean():8.3f}{after.mean():13.3f}"
        f"{gains[name].mean():+9.3f}{sem(gains[name]):10.3f}"
    )
gain = gains["NDCG@10"]
print(
    f"\nBy NDCG@10, LambdaMART's list is better than BM25's for "
    f"{np.mean(gain > 0):.0%} of the queries, worse for {np.mean(gain < 0):.0%}."
)

# %%
# The lists of two queries
# ------------------------
# The first query gains more NDCG@10 than nine of ten queries. The second gains most.
by_gain = np.argsort(gain, kind="stable")
shown = {
    "nine of ten queries gain less": by_gain[9 * len(by_gain) // 10],
    "the greatest gain": by_gain[-1],
}
top_grades = {}
for rule, query in shown.items():
    print(f"\n{docs.queries[query]!r}\n({rule}: {gain[query]:+.2f} NDCG@10)")
    rows = np.flatnonzero(groups == query)
    for name, values in {"BM25": bm25, "LambdaMART": scores}.items():
        top = rows[np.argsort(-values[rows], kind="stable")[:5]]
        top_grades[rule, name] = y[top]
        print(f"  {name}, first five (grade, document)")
        for row in top:
            print(f"    {y[row]}  {docs.documents[row]}")

# %%
# The picture
# -----------
# The left picture has NDCG@k for every k. The right one has the gain of each query.
if find_spec("matplotlib") is None:
    print("\nFor a picture: python -m pip install matplotlib")
else:
    from matplotlib import pyplot as plt

    from sklearn_ltr.plotting import CutoffCurveDisplay, QueryComparisonDisplay

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    rankings = {"BM25": bm25, "LambdaMART": scores}
    CutoffCurveDisplay.from_predictions(y, rankings, groups=groups, ax=left)
    QueryComparisonDisplay.from_predictions(
        y, *rankings.values(), groups=groups, names=list(rankings), ax=right
    )
    picture = Path(gettempdir()) / "first_ranker.png"
    figure.savefig(picture, dpi=150)
    print(f"\nThe picture is in {picture}")
