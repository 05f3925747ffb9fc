"""Is the new ranker better? Judged runs, then an interleaved test
================================================================

Run it by ``python 20_runs_and_interleaving.py``.
Needs ``python -m pip install ".[examples]"``.

Two rankers are compared in two ways. Offline, each has written its lists to a file of
TREC, a run, and another file has the judgements: several metrics, each with the
interval of its difference. Then users decide: each search shows one list that is
interleaved from both, and the ranker whose documents get more clicks wins. Both use
only queries that the new ranker has not learned from. The users are simulated.
"""

# sphinx_gallery_thumbnail_path = "_static/thumbnails/20_runs_and_interleaving.svg"
from __future__ import annotations

from pathlib import Path
from tempfile import mkdtemp

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from python_docs import make_data, read_documents
from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.clicks import interleave, interleaving_test, simulate_clicks
from sklearn_ltr.datasets import (
    dump_qrels,
    dump_run,
    join_run,
    load_qrels,
    load_run,
)
from sklearn_ltr.metrics import MAP, MRR, NDCG, Precision
from sklearn_ltr.model_selection import compare_rankers, group_train_test_split
from sklearn_ltr.plotting import RankerComparisonDisplay

# %%
# Three files
# -----------
# The data are made like those of the first example, with fewer queries. BM25 is in use,
# and LambdaMART has learned from half of the queries. The runs have the other half.
docs = make_data(read_documents(), 900, 30)
X, X_test, y, y_test, _, names, groups, groups_test = group_train_test_split(
    docs.data,
    docs.target,
    docs.documents,
    groups=docs.groups,
    test_size=0.5,
    random_state=0,
)
new = LambdaMARTRanker(n_estimators=50, random_state=0).fit(X, y, groups=groups)
in_use = X_test[:, docs.feature_names.index("bm25")]
folder, rows = Path(mkdtemp()), {"groups": groups_test, "documents": names}
dump_qrels(folder / "qrels.txt", y_test, **rows)
dump_run(folder / "bm25.txt", in_use, **rows, tag="BM25")
dump_run(folder / "new.txt", new.predict(X_test), **rows, tag="LambdaMART")
for path in sorted(folder.iterdir()):
    print(f"{path.name:12}{path.read_text().splitlines()[0]}")

# %%
# What trec_eval would print
# --------------------------
# `join_run` returns the arguments of the metrics by name. With these arguments the
# values are those of trec_eval: ``ndcg_cut_10``, ``map``, ``recip_rank`` and ``P_5``.
# Only the document with the sentence of the query counts for MRR.
METRICS = {
    "NDCG@10": NDCG(10, gain="linear", ties="stable"),
    "MAP": MAP(ties="stable"),
    "MRR, grade 3": MRR(relevant_from=3, ties="stable"),
    "P@5": Precision(5, ties="stable"),
}
qrels = load_qrels(folder / "qrels.txt")
runs = [load_run(folder / name) for name in ("bm25.txt", "new.txt")]
print("\n" + " " * 12 + "".join(f"{name:>14}" for name in METRICS))
for run in runs:
    joined = join_run(run, qrels)
    values = [metric(**joined) for metric in METRICS.values()]
    print(f"{run.tag:12}" + "".join(f"{value:14.4f}" for value in values))

# %%
# Differences, query by query
# ---------------------------
# To compare the two runs, a table has both scores of each document beside its grade.
# Both runs have the same documents here. Where they have not, merge by ``how="outer"``,
# and put the documents that a run lacks below its others.
keys = ["groups", "documents"]
table = pd.DataFrame(dict(qrels))
for run in runs:
    columns = {key: run[key] for key in keys} | {run.tag: run.scores}
    table = table.merge(pd.DataFrame(columns), on=keys)
table = table.sort_values(keys, ascending=False)  # trec_eval's order of equal scores
comparisons = {
    name: compare_rankers(
        {run.tag: table[run.tag] for run in runs},
        None,
        table["grades"],
        groups=table["groups"],
        metric=metric,
    )
    for name, metric in METRICS.items()
}
print("\n              difference         95% interval        p")
pairs = {name: comparison.pairs[0] for name, comparison in comparisons.items()}
for name, pair in pairs.items():
    print(
        f"{name:14}{pair.mean_difference:+10.4f}  {pair.low:+9.4f} to {pair.high:+.4f}"
        f"{pair.p_value:9.4f}"
    )
RankerComparisonDisplay(
    [pair.mean_difference for pair in pairs.values()],
    [pair.low for pair in pairs.values()],
    [pair.high for pair in pairs.values()],
    names=list(pairs),
).plot()
plt.show()

# %%
# An interleaved test
# -------------------
# Each search shows a list of ten of its own, and a user reads it from the top. The
# ranker whose documents get more clicks wins the search. With one search for each
# query, the searches are independent, as the sign test assumes. With ten they are not,
# and its p-value is too small. The last column is the share of the searches that
# LambdaMART wins minus the share that BM25 wins, with a standard error between queries.
by_bm25, by_new = (table[run.tag].to_numpy() for run in runs)
query = np.unique(table["groups"], return_inverse=True)[1]
leads = {}
print("\nsearches  BM25 wins  LambdaMART wins  ties  p (sign test)  lead (error)")
for n_each in (1, 10):
    row, copy = np.tile(np.arange(len(query)), n_each), np.arange(n_each)
    search = query[row] * n_each + copy.repeat(len(query))
    lists = interleave(by_bm25[row], by_new[row], groups=search, random_state=0)
    log = simulate_clicks(
        table["grades"].to_numpy()[row][lists.documents],
        -lists.positions,  # as shown
        groups=lists.groups,
        model="dbn",
        n_sessions=None,  # one for each list
        random_state=0,
    )
    teams = lists.teams[log.documents]
    result = interleaving_test(log.clicks, teams=teams, sessions=log.sessions)
    more = pd.Series(np.where(teams == "b", log.clicks, -log.clicks))
    won = np.sign(more.groupby(log.groups).sum())
    leads[n_each] = won.groupby(won.index // n_each).mean()
    print(
        f"{len(won):8}{result.n_wins_a:11}{result.n_wins_b:17}{result.n_ties:6}"
        f"{result.p_value:15.1e}{leads[n_each].mean():+8.3f} "
        f"({leads[n_each].sem():.3f})"
    )

# %%
# Judgements need fewer queries than clicks, here: they compare the whole lists of a
# query, and a search has one winner, or none.
