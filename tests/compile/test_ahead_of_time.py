"""Compiling ahead of time: afterwards no new process compiles anything."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

import pytest

from sklearn_ltr import LambdaMARTRanker, __main__
from sklearn_ltr._commands import compiling, small_fits
from sklearn_ltr._core.compile import INTERPRETED
from sklearn_ltr._core.compile.kernels import USES_INTERNALS
from sklearn_ltr.datasets import make_ranking

# What users do, in ways that `compile_kernels` does not: other sizes, layouts, options
USE_EVERYTHING = """
from itertools import product
import numpy as np
from scipy.sparse import csr_matrix
from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker, metrics
from sklearn_ltr.ensemble import BlendedRanker, best_blend
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.inspection import local_optimality, shap_values
from sklearn_ltr.inspection import compute_lambdas
from sklearn_ltr.mart import MARTClassifier, MARTRegressor
from sklearn_ltr.metrics._metric import METRICS

d = make_ranking(400, n_features=7, n_informative=3, missing=0.1, random_state=1)
X, y, g = d.data, d.target, d.groups
Z = np.nan_to_num(X)

class Median(metrics.Metric):
    def value(self, ranked_grades):
        return float(ranked_grades[len(ranked_grades) // 2] > 0)

for metric in (*METRICS.values(), Median):
    for k in (2, 5):
        r = LambdaMARTRanker(metric(k), n_estimators=3, early_stopping=True)
        r.fit(X, y, groups=g).score(X, y, groups=g)
own = {"objective": lambda s, y, offsets: (s - y, np.ones(len(y)))}
r = LambdaMARTRanker(n_estimators=3, learning_rate=lambda m: 0.1, **own)
r.set_params(scoring=["map", "ndcg@5"], early_stopping=False, random_state=0)
r.fit(X, y, groups=g, X_val=(X, X[:99]), y_val=(y, y[:99]), groups_val=(g, g[:99]))
LambdaRankRanker(max_iter=1, scoring=["map", "err"], **own).fit(Z, y, groups=g)
options = {"split_gain": "least_squares", "colsample_bytree": 3, "max_features": 2}
options |= {"subsample": 0.5}
for table in (X, np.asfortranarray(X), X.astype(np.float32), X[::-1], csr_matrix(Z)):
    r = LambdaMARTRanker(n_estimators=40, max_leaf_nodes=300, min_samples_leaf=2)
    r.set_params(random_state=0, **options).fit(table, y, groups=g)
    r.predict(table), r.predict(table[:50]), r.rank(table, groups=g)
for policy, signs in product(("best_first", "symmetric"), (None, [1] * 7)):
    r = LambdaMARTRanker(n_estimators=3, monotonic_cst=signs, grow_policy=policy)
    r.fit(X, y, groups=g, init_score=Z[:, 0])
LambdaMARTRanker(n_estimators=3, n_jobs=2).fit(X, y, groups=g, init_score=Z[:, 0])
from tests.dask import fit_together
halves = g % 2 == 0, g % 2 == 1
parts = [{"X": X[own], "y": y[own], "groups": g[own]} for own in halves]
for policy, signs in product(("best_first", "symmetric"), (None, [1] * 7)):
    r = LambdaMARTRanker(n_estimators=3, monotonic_cst=signs, grow_policy=policy)
    fit_together(parts, 0, r)
    r = LambdaMARTRanker(n_estimators=3, grow_policy=policy)
    few = csr_matrix(np.where(np.arange(X.size).reshape(X.shape) % 20 == 0, Z, 0))
    r.fit(few, y, groups=g).predict(few)
MARTRegressor(n_estimators=3).fit(X, y).predict(X)
c = MARTClassifier(n_estimators=3, subsample=0.5, early_stopping=True).fit(X, y > 0)
c.predict_proba(X)
for table in (X, np.asfortranarray(X), X.astype(np.float32), X[::-1], csr_matrix(Z)):
    shap_values(c, table), shap_values(c, table[:3], background=table[:20])
for activation in ("relu", "tanh", "logistic", "identity"):
    LambdaRankRanker(activation=activation, max_iter=1).fit(Z, y, groups=g).predict(Z)
n = RankNetRanker(max_iter=1, solver="sgd", learning_rate_init=1e-6, tied_pairs=True)
n.fit(Z, y, groups=g).partial_fit(Z, y, groups=g).predict_pair_proba(Z, Z)
shown = {"groups": g, "positions": np.arange(len(g)) % 400}
for bias in ("additive", "pairwise"):
    LambdaMARTRanker(n_estimators=2, position_bias=bias).fit(X, y > 0, **shown)
for metric in ("map", "err", None, Median()):
    r = LambdaMARTRanker(metric, n_estimators=2)
    r.fit(X, y > 0, groups=g, propensities=np.full(len(g), 0.5))
surely = {"groups": g, "document_weight": np.linspace(0.2, 1, len(g))}
for model in (LambdaMARTRanker(None, n_estimators=2), n, LambdaRankRanker(max_iter=1)):
    model.fit(Z, y, **surely)
r = LambdaMARTRanker(n_estimators=2, position_bias="pairwise")
r.fit(Z, y > 0, **shown | surely)
LambdaRankRanker(max_iter=1, position_bias="additive").fit(Z, y > 0, **shown)
RankNetRanker(max_iter=1).fit(Z, y > 0, groups=g, propensities=np.full(len(g), 0.5))
RankNetRanker(max_iter=1).fit(Z, pairs=[[0, 1], [5, 2]], pair_probabilities=[1, 0.5])
for metric in ("ndcg", "map", None, Median()):
    judged = {"groups": np.zeros(60), "pairs": [[0, 1], [0, 2], [3, 1], [3, 1]]}
    ranker = LambdaMARTRanker(metric, n_estimators=2, min_samples_leaf=1)
    ranker.fit(X[:60], y[:60] if metric else None, **judged)
    ranker = LambdaRankRanker(metric, max_iter=1)
    ranker.fit(Z[:60], y[:60] if metric else None, **judged)
for metric in METRICS.values():
    for ties in ("average", "stable"):
        own = metric(4, ties=ties)
        own(y, Z[:, 0], groups=g), own.per_query(y, Z[:, 0], groups=g)
metrics.rank_scores(Z[:, 0], groups=g)
metrics.map_score(y, Z[:, 0], groups=g, y_missing=[1], groups_missing=[g[0]])
for metric in (*(m(5) for m in METRICS.values()), None):
    compute_lambdas(Z[:, 0], y, metric, groups=g)
best_blend(Z[:, 0], Z[:, 1], y, groups=g)
best_blend(Z[:, 0], Z[:, 1], y, groups=g, metric=Median())
BlendedRanker([r, r], cv="prefit", method="lambdarank").fit(Z, y, groups=g)
local_optimality(n, Z, y, groups=g, n_directions=2)
"""

# Prints the kernels that compiling ahead of time leaves out, and what then is compiled
COMPILE_AND_USE = """
import importlib, pkgutil, sklearn_ltr
from sklearn_ltr._commands.small_fits import STEPS
from sklearn_ltr._core.compile import KERNELS

for module in pkgutil.walk_packages(sklearn_ltr.__path__, "sklearn_ltr."):
    if module.name.rpartition(".")[2] not in ("__main__", "spark", "torch"):
        importlib.import_module(module.name)

def signatures():
    return {(name, s) for name, kernel in KERNELS.items() for s in kernel.signatures}

for step in STEPS.values():
    step()
compiled = signatures()
print(sorted(KERNELS.keys() - {name for name, _ in compiled}))
exec(USE_EVERYTHING)
print(sorted(signatures() - compiled))
"""


@pytest.mark.slow
@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
def test_after_compiling_ahead_of_time_no_kernel_is_compiled():
    script = f"USE_EVERYTHING = {USE_EVERYTHING!r}\n{COMPILE_AND_USE}"
    command = [sys.executable, "-W", "ignore", "-c", script]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    assert done.stdout == "[]\n[]\n"


# A process that serves: it loads a model and scores queries until kernels are used
SERVE = """
import pickle, sys
from pathlib import Path
import numpy as np
ranker, X = pickle.loads(Path(sys.argv[1]).read_bytes())
for _ in range(300):
    scores = ranker.predict(X)
from sklearn_ltr._core.compile import KERNELS
misses = sum(sum(k.stats.cache_misses.values()) for k in KERNELS.values())
hits = sum(sum(k.stats.cache_hits.values()) for k in KERNELS.values())
print(hits > 0, misses)
"""


@pytest.mark.long
@pytest.mark.skipif(not USES_INTERNALS, reason="nothing is stored")
def test_a_container_that_has_compiled_serves_without_compiling(tmp_path):
    """The steps of the Dockerfile in docs/guide/deploying.md, with an empty cache."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "kernels")}
    python = [sys.executable, "-W", "error"]
    compiled = [*python, "-m", "sklearn_ltr", "compile"]
    subprocess.run(compiled, check=True, env=environment, stdout=subprocess.DEVNULL)
    data = make_ranking(60, random_state=0)
    ranker = LambdaMARTRanker(random_state=0)
    ranker.fit(data.data, data.target, groups=data.groups)
    model = tmp_path / "ranker.pkl"
    model.write_bytes(pickle.dumps((ranker, data.data[:100])))
    serve = [*python, "-c", SERVE, str(model)]
    done = subprocess.run(
        serve, check=True, env=environment, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("True 0\n", "")


FIT_AND_PREDICT = """
import hashlib
import numpy as np
from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker
from sklearn_ltr.datasets import make_ranking

data = make_ranking(300, n_features=4, n_informative=2, random_state=0)
X, y, groups = data.data, data.target, data.groups
predicted = [
    LambdaMARTRanker(n_estimators=30, random_state=0, n_jobs=2),
    LambdaRankRanker(max_iter=1, random_state=0),
]
predicted = [ranker.fit(X, y, groups=groups).predict(X) for ranker in predicted]
digest = hashlib.sha256(np.array(predicted).tobytes()).hexdigest()
"""

WITH_A_NEWER_NUMBA = f"""
import sys
import numba
from numba.core import compiler
from numba.misc import appdirs
numba.__version__ = "99.0.1"
exec(sys.argv[1])
{FIT_AND_PREDICT}
print(digest)
"""

# How a newer numba may differ in what is private
CHANGES = {
    "nothing": "",
    "a name has gone": "del appdirs.AppDirs",
    "results are not stored as before": "del compiler.CompileResult._reduce",
}


@pytest.mark.long
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.skipif(not USES_INTERNALS, reason="this numba is not a tested one")
def test_a_newer_numba_makes_the_same_models(change, tmp_path):
    """It stores kernels if all private parts work; else a line says that none are."""
    here = {}
    exec(FIT_AND_PREDICT, here)
    for n_stored in (0, 1):
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", WITH_A_NEWER_NUMBA, CHANGES[change]],
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        assert done.stdout == f"{here['digest']}\n"
        # but for those that tell whoever waits for the compiler what is compiled
        told = " so far: compiling", " has ended after"
        lines = [s for s in done.stderr.splitlines() if not any(t in s for t in told)]
        stored = list(tmp_path.rglob("*.nbc"))
        if change == "nothing":
            assert len(stored) > 10
            assert all("kernels for this CPU" in line for line in lines)
            assert n_stored == 0 or not lines  # all are read
        else:
            (line,) = lines
            assert "up to 0.68: with numba 99.0.1 it stores no compiled" in line
            assert stored == []


def test_all_kernels_are_compiled_by_processes_that_share_the_steps(
    capsys, monkeypatch
):
    took = ["two", "one", "one", "two"]  # each process takes each step
    given = {}

    def lines_of(commands, environment):
        given["commands"], given["environment"] = commands, environment
        return iter(took)

    monkeypatch.setattr(compiling, "lines_of", lines_of)
    monkeypatch.setattr(compiling.joblib, "cpu_count", lambda: 2)
    monkeypatch.setattr(small_fits, "STEPS", {"one": None, "two": None})
    assert __main__.main(["compile"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in printed] == ["two", "one"]
    orders = [command[-2:] for command in given["commands"]]
    assert orders == [["one", "two"], ["two", "one"]]
    assert given["environment"] == {}
