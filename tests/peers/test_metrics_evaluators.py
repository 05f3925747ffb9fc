"""Our values compared with those of trec_eval, ranx and scikit-learn."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from sklearn import metrics as sklearn_metrics

from sklearn_ltr.metrics import (
    DCG,
    MAP,
    MRR,
    NDCG,
    BPref,
    HitRate,
    Precision,
    Recall,
    RPrecision,
)
from tests.strategies import ranking_without_ties

DATA = ranking_without_ties()


def as_trec_eval_reads_it() -> tuple[dict, dict]:
    """Judgements and run: query -> document -> grade, or score."""
    grades: dict = {}
    scores: dict = {}
    rows = zip(DATA.groups, DATA.y, DATA.scores, strict=True)
    for row, (group, y, score) in enumerate(rows):
        grades.setdefault(str(group), {})[f"d{row}"] = int(y)
        scores.setdefault(str(group), {})[f"d{row}"] = float(score)
    return grades, scores


def ours(metric) -> np.ndarray:
    return metric.per_query(DATA.y, DATA.scores, groups=DATA.groups)


TREC_EVAL = {
    "ndcg": NDCG(gain="linear"),
    "ndcg_cut_5": NDCG(5, gain="linear"),
    "ndcg_cut_10": NDCG(10, gain="linear"),
    "map": MAP(),
    "map_cut_5": MAP(5),
    "recip_rank": MRR(),
    "P_5": Precision(5),
    "recall_5": Recall(5),
    "success_5": HitRate(5),
    "Rprec": RPrecision(),
    "bpref": BPref(),
}


@pytest.mark.parametrize("theirs", TREC_EVAL)
def test_values_are_those_of_trec_eval(theirs):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    grades, scores = as_trec_eval_reads_it()
    name, _, cutoff = theirs.rpartition("_")
    measure = f"{name}.{cutoff}" if cutoff.isdigit() else theirs
    values = pytrec_eval.RelevanceEvaluator(grades, {measure}).evaluate(scores)
    expected = [values[query][theirs] for query in grades]
    # the same sums of doubles, in another order
    np.testing.assert_allclose(ours(TREC_EVAL[theirs]), expected, rtol=1e-12)


RANX = {
    "ndcg@5": NDCG(5, gain="linear"),
    "ndcg_burges@5": NDCG(5),
    "map@5": MAP(5),
    "mrr@5": MRR(5),
}

# In a process of its own: ranx starts numba's thread pool, with which a fork of this
# process would crash, and compiles with warnings.
RUN_RANX = """
import json, sys
from ranx import Qrels, Run, evaluate
grades, scores, names = json.load(sys.stdin)
values = evaluate(Qrels(grades), Run(scores), names, return_mean=False)
print(json.dumps({name: list(values[name]) for name in names}))
"""


def test_values_are_those_of_ranx():
    pytest.importorskip("ranx")
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_DISABLE_JIT"}
    answer = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", RUN_RANX],
        input=json.dumps([*as_trec_eval_reads_it(), list(RANX)]),
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    expected = json.loads(answer.stdout.splitlines()[-1])
    for name, metric in RANX.items():
        np.testing.assert_allclose(ours(metric), expected[name], rtol=1e-12)


@pytest.mark.parametrize("k", [None, 1, 5])
@pytest.mark.parametrize("n_scores", [3, 1000], ids=["many ties", "few ties"])
def test_values_are_those_of_scikit_learn(k, n_scores):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, (30, 9))
    y[3] = 0
    scores = rng.integers(0, n_scores, y.shape).astype(float)
    groups = np.repeat(np.arange(30), 9)
    ndcg = NDCG(k, gain="linear", ties="average")(
        y.ravel(), scores.ravel(), groups=groups
    )
    assert ndcg == pytest.approx(sklearn_metrics.ndcg_score(y, scores, k=k), rel=1e-12)
    dcg = DCG(k, gain="linear", ties="average")(
        y.ravel(), scores.ravel(), groups=groups
    )
    assert dcg == pytest.approx(sklearn_metrics.dcg_score(y, scores, k=k), rel=1e-12)
    exponential = DCG(k, ties="average")(y.ravel(), scores.ravel(), groups=groups)
    theirs = sklearn_metrics.dcg_score(2**y - 1, scores, k=k)
    assert exponential == pytest.approx(theirs, rel=1e-12)
