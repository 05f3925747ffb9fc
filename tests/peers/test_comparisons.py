"""Comparisons of rankers beside the tests of ranx, on the same lists."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sklearn_ltr.metrics import NDCG
from sklearn_ltr.model_selection import compare_rankers

# in a process of its own, as in test_metrics_evaluators.py
RUN_RANX = """
import json, sys
from ranx import Qrels, Run, compare
grades, scores = json.load(sys.stdin)
runs = [Run(lists, name=name) for name, lists in scores.items()]
found = {}
for test in ("student", "fisher"):
    report = compare(
        Qrels(grades), runs, ["ndcg@5"], stat_test=test, n_permutations=2000
    )
    for pair, result in report.comparisons.items():
        p = float(result["ndcg@5"]["p_value"])
        found[" ".join([test, *sorted(pair)])] = p
for name, values in report.results.items():
    found[name] = float(values["ndcg@5"])
print(json.dumps(found))
"""


def lists_of(groups, column):
    """The values of documents by query, named as ranx wants them."""
    return {
        f"q{query}": {
            f"d{i}": column[i].item() for i in np.flatnonzero(groups == query)
        }
        for query in np.unique(groups).tolist()
    }


@pytest.mark.slow
def test_p_values_are_near_those_of_the_tests_of_ranx():
    pytest.importorskip("ranx")
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(100), 8)
    y = rng.choice([0, 0, 0, 1, 2], len(groups))
    y[::8] = 1  # ranx takes no query without a relevant document
    scores = {
        name: signal * y + rng.normal(size=len(y))
        for name, signal in (("weak", 0.4), ("middle", 0.5), ("strong", 1.2))
    }
    runs = {name: lists_of(groups, column) for name, column in scores.items()}
    answer = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", RUN_RANX],
        input=json.dumps([lists_of(groups, y), runs]),
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        check=True,
        capture_output=True,
        text=True,
    )
    theirs = json.loads(answer.stdout.splitlines()[-1])
    metric = NDCG(5, gain="linear")
    comparison = compare_rankers(scores, None, y, groups=groups, metric=metric)
    for name, mean in comparison.means.items():
        assert_allclose(mean, theirs[name], rtol=1e-9)
    for pair in comparison.pairs:
        names = " ".join(sorted([pair.a, pair.b]))
        assert_allclose(pair.p_value, theirs[f"student {names}"], atol=0.02)
        # 2,000 permutations: a p-value varies by .011
        assert_allclose(pair.p_value, theirs[f"fisher {names}"], atol=0.04)
