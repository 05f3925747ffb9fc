"""Our values compared with those of trec_eval, ranx and scikit-learn."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from sklearn import metrics as sklearn_metrics
from sklearn.utils import Bunch

from sklearn_ltr._commands.lists import rank_lists
from sklearn_ltr._commands.measures import measures_of
from sklearn_ltr.datasets import join_run
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


def draw_run_and_qrels(lowest):
    """Lists of which some documents are not judged, and judgements not retrieved."""
    rng = np.random.default_rng(0)
    run, qrels = [], []
    for topic in range(30):
        for document in range(20):
            name = (str(topic), f"d{document}")
            if rng.random() < 0.5:
                run.append((*name, float(rng.integers(0, 8)) / 4))
            if rng.random() < 0.6:
                grade = rng.choice(np.arange(lowest, 4))
                qrels.append((*name, int(grade) if topic % 5 else min(0, int(grade))))
    run = [row for row in run if row[0] not in ("3", "20")]
    qrels = [row for row in qrels if row[0] not in ("7", "8")]

    def bunch(rows, last):
        groups, documents, numbers = zip(*rows, strict=True)
        return Bunch(groups=groups, documents=documents, **{last: numbers})

    return bunch(run, "scores"), bunch(qrels, "grades")


def everything_retrieved():
    names = {"groups": DATA.groups.astype(str), "documents": np.arange(len(DATA.y))}
    return Bunch(**names, scores=DATA.scores), Bunch(**names, grades=DATA.y.astype(int))


def as_dicts(bunch, last):
    found: dict = {}
    for group, document, number in zip(*(
        np.asarray(bunch[name]).tolist() for name in ("groups", "documents", last)
    ), strict=True):  # fmt: skip
        found.setdefault(group, {})[str(document)] = number
    return found


@pytest.mark.parametrize("theirs", TREC_EVAL)
@pytest.mark.parametrize(
    "draw",
    [
        everything_retrieved,
        partial(draw_run_and_qrels, 0),
        partial(draw_run_and_qrels, -2),
    ],
)
def test_values_are_those_of_trec_eval(draw, theirs):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    run, qrels = draw()
    name, _, cutoff = theirs.rpartition("_")
    measure = f"{name}.{cutoff}" if cutoff.isdigit() else theirs
    evaluator = pytrec_eval.RelevanceEvaluator(as_dicts(qrels, "grades"), {measure})
    values = evaluator.evaluate(as_dicts(run, "scores"))
    expected = [values[topic][theirs] for topic in sorted(values)]
    rules = {"negative": "unjudged"}
    rules["unjudged"] = "drop" if theirs == "bpref" else "zero"
    metric = replace(TREC_EVAL[theirs], ties="stable")
    found = metric.per_query(**join_run(run, qrels, topics="both", **rules))
    # the same sums of doubles, in another order
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    # and trec_eval -c: topics without a line in the run count 0
    complete = metric(**join_run(run, qrels, **rules))
    assert complete == pytest.approx(sum(expected) / len(set(qrels.groups)), rel=1e-12)


RANX = {"ndcg_burges@5": NDCG(5), "mrr@5": MRR(5)}  # which trec_eval has not

# In a process of its own: ranx starts numba's thread pool, with which a fork of this
# process would crash, and compiles with warnings.
RUN_RANX = """
import json, sys
from ranx import Qrels, Run, evaluate
grades, scores, names = json.load(sys.stdin)
values = evaluate(Qrels(grades), Run(scores), names, return_mean=False)
print(json.dumps({name: list(values[name]) for name in names}))
"""


@pytest.mark.slow
def test_interpolated_precision_is_that_of_trec_eval_9():
    """Under its name in ir_measures, which computes it by pytrec_eval."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    run, qrels = draw_run_and_qrels(0)
    joined = join_run(run, qrels, topics="both")
    lists = rank_lists(joined, None, True, "")
    evaluator = pytrec_eval.RelevanceEvaluator(
        as_dicts(qrels, "grades"), {"iprec_at_recall"}
    )
    theirs = evaluator.evaluate(as_dicts(run, "scores"))
    for tenth in range(11):
        measure = measures_of(f"IPrec@{tenth / 10}", True, None)[f"IPrec@{tenth / 10}"]
        expected = [
            theirs[topic][f"iprec_at_recall_{tenth / 10:.2f}"] for topic in lists.labels
        ]
        np.testing.assert_allclose(measure.compute(lists), expected, rtol=1e-12)


def test_values_are_those_of_ranx():
    pytest.importorskip("ranx")
    run, qrels = everything_retrieved()
    judged, retrieved = as_dicts(qrels, "grades"), as_dicts(run, "scores")
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}  # compiling takes a minute
    answer = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", RUN_RANX],
        input=json.dumps([judged, retrieved, list(RANX)]),
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
    rows = y.ravel(), scores.ravel()
    for metric, gains, theirs in (
        (NDCG(k, gain="linear", ties="average"), y, sklearn_metrics.ndcg_score),
        (DCG(k, gain="linear", ties="average"), y, sklearn_metrics.dcg_score),
        (DCG(k, ties="average"), 2**y - 1, sklearn_metrics.dcg_score),
    ):
        expected = theirs(gains, scores, k=k)
        assert metric(*rows, groups=groups) == pytest.approx(expected, rel=1e-12)
