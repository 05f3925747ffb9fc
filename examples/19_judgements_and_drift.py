"""Which judgements to doubt, and what has moved since the training
================================================================

Run it by ``python 19_judgements_and_drift.py``.
Needs ``python -m pip install ".[examples]"``.

Two checks of a ranker's data. Grades that contradict what a ranker has learned from
other queries deserve a second look: the example changes some grades, and counts how
many of these are found. And the lists of tomorrow may differ from those of the
training: the example shortens the lists of the first stage, and a report says which
columns have moved, and what the metric is now.
"""

# sphinx_gallery_thumbnail_path = "_static/thumbnails/19_judgements_and_drift.svg"
from __future__ import annotations

from pathlib import Path
from tempfile import gettempdir

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from python_docs import make_data, read_documents
from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.inspection import model_report, suspect_judgments

# %%
# Judgements with slips
# ---------------------
# The data are made like those of the first example, with fewer queries. One grade of
# fifty is replaced by another grade.
documents = read_documents()
docs = make_data(documents, 400, 50)
X = pd.DataFrame(docs.data, columns=docs.feature_names)
y, groups = docs.target, docs.groups
rng = np.random.default_rng(0)
is_wrong = rng.random(len(y)) < 0.02
grades = np.where(is_wrong, (y + rng.integers(1, 4, len(y))) % 4, y)
print(f"{is_wrong.sum()} of {len(y):,} grades are wrong, {is_wrong.mean():.1%}")

# %%
# The most doubtful grades
# ------------------------
# Each query is ranked by a model that has learned from other queries, five in all.
ranker = LambdaMARTRanker(n_estimators=50, random_state=0)
suspects = suspect_judgments(ranker, X, grades, groups=groups)
suspects["is_wrong"] = is_wrong[suspects.index]
first = suspects.head(8)
print(first.assign(document=docs.documents[first.index]).round(2).to_string())

# %%
# The share of wrong grades among the first documents of the list. The others of them
# have the grade that they had, and the features do not tell why. So a judge should
# decide, not the list.
found = suspects["is_wrong"].to_numpy().cumsum()
n_seen = np.arange(1, len(found) + 1)
for n in (20, 50, 100, 200):
    print(
        f"first {n:4}: {found[n - 1] / n:4.0%} wrong (by chance {is_wrong.mean():.1%})"
    )

figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
ax.plot(n_seen / len(found), found / found[-1], label="by doubt")
ax.plot([0, 1], [0, 1], linestyle=":", color="0.4", label="by chance")
ax.set(xlabel="share of the grades looked at", ylabel="share of the wrong ones found")
ax.legend()
plt.show()

# %%
# Shorter lists
# -------------
# The ranker is trained on three of five queries, with lists of up to 50 documents. Then
# somebody makes the first stage faster: it finds only 20. A query whose source is not
# among these is left out, so queries are told apart by their text.
n_trained = len(docs.queries) * 3 // 5
trained = groups < n_trained
ranker.fit(X[trained], y[trained], groups=groups[trained])
known = set(docs.queries[:n_trained])
short = make_data(documents, 400, 20)
lists = {"as in training": docs, "shorter": short}
reports = {}
for name, data in lists.items():
    new = np.array([data.queries[query] not in known for query in data.groups])
    reports[name] = model_report(
        ranker,
        pd.DataFrame(data.data[new], columns=data.feature_names),
        data.target[new],
        groups=data.groups[new],
        X_reference=X[trained],
    )

# %%
# What has moved
# --------------
# The population stability index of each column, 0 for equal distributions. Many people
# train again above 0.25. The new queries have some of it without any change: the length
# of a query is the same for its whole list, and there are few queries.
drift = pd.DataFrame(
    {name: pd.Series(report.column_drift) for name, report in reports.items()}
)
drift.loc["(scores)"] = [report.score_drift for report in reports.values()]
print(drift.sort_values("shorter", ascending=False).head(8).round(3).to_string())

# %%
# The report is one file, with the metric, the worst queries, importances, SHAP values
# and drift. Do not compare the metrics of the two: shorter lists have fewer documents
# to rank wrong, and the queries whose source was not found are left out.
for name, report in reports.items():
    print(
        f"{name:15}{report.metric.name} {report.value:.3f} "
        f"({report.standard_error:.3f})"
    )
path = Path(gettempdir()) / "shorter_lists.html"
reports["shorter"].save(path)
print(f"The report is in {path}, {path.stat().st_size / 1000:,.0f} kB")
