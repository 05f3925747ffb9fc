"""The same bytes on other CPUs: by code made for them, on this one."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

from sklearn_ltr._compile import INTERPRETED

# Hashes of models of trees, and of what metrics and probabilities are made from them.
SCRIPT = """
import hashlib
import numpy as np
from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.mart import MARTClassifier, MARTRegressor
from sklearn_ltr.metrics._metric import METRICS

def write(name, *arrays):
    content = b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)
    print(name, hashlib.sha256(content).hexdigest()[:12])

def trees(ensemble):
    return [ensemble.feature, ensemble.threshold, ensemble.value, ensemble.gain]

made = make_ranking(60, random_state=0, missing=0.1)
X, y, groups = made.data, made.target, made.groups
y = y / 2  # 2^y and 2^-y are not whole numbers
options = {"n_estimators": 12, "random_state": 0}
for name, own in {
    "ndcg": {},
    "err": {"metric": "err@10"},
    "far apart": {"sigma": 200.0, "learning_rate": 5.0},
    "cost": {"metric": None},
}.items():
    ranker = LambdaMARTRanker(**options, **own).fit(X, y, groups=groups)
    scores = ranker.predict(X)
    write(name, scores, *trees(ranker.ensemble_))
    write("curve", getattr(ranker, "loss_curve_", 0.0))
for name, metric in METRICS.items():
    for k in (None, 5):
        write(name, metric(k).per_query(y, scores, groups=groups),
              metric(k)(y, scores, groups=groups))
classifier = MARTClassifier(**options, early_stopping=True).fit(X, y > 0.5)
write("classifier", classifier.predict_proba(X), classifier.validation_score_)
write("regressor", MARTRegressor(**options).fit(X, y).predict(X))
"""

# Those of networks, whose products are those of BLAS.
NETWORKS = """
import hashlib
from sklearn.preprocessing import StandardScaler
from sklearn_ltr import LambdaRankRanker, RankNetRanker
from sklearn_ltr.datasets import make_ranking

made = make_ranking(60, random_state=0)
X = StandardScaler().fit_transform(made.data)
for ranker in LambdaRankRanker(random_state=0), RankNetRanker(random_state=0):
    scores = ranker.fit(X, made.target, groups=made.groups).predict(X)
    print(hashlib.sha256(scores.tobytes()).hexdigest()[:12])
"""

# The features that code may use: of numba's kernels, of numpy and of the C library.
NO_AVX512 = {
    "NPY_DISABLE_CPU_FEATURES": "AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL "
    "AVX512_ICL AVX512_SPR X86_V4",
    "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX512DQ",
}
NO_AVX = {
    "NPY_DISABLE_CPU_FEATURES": NO_AVX512["NPY_DISABLE_CPU_FEATURES"]
    + " X86_V3 AVX2 FMA3 F16C AVX",
    "GLIBC_TUNABLES": NO_AVX512["GLIBC_TUNABLES"]
    + ",-AVX2,-AVX,-FMA,-FMA4,-AVX_Fast_Unaligned_Load",
}
CPUS = {
    "AVX2": {"NUMBA_CPU_NAME": "haswell", "OPENBLAS_CORETYPE": "Haswell"} | NO_AVX512,
    "SSE4": {
        "NUMBA_CPU_NAME": "x86-64-v2",
        "NUMBA_CPU_FEATURES": "",
        "OPENBLAS_CORETYPE": "Nehalem",
    }
    | NO_AVX,
}

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64" or INTERPRETED, reason="needs x86-64 code"
)


def hashes(script: str = SCRIPT, **environment: str) -> list[str]:
    """Run the script in a process of its own."""
    # numpy warns of features that it or this CPU does not have
    command = [sys.executable, "-W", "ignore", "-c", script]
    done = subprocess.run(
        command,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=900,  # it compiles everything, maybe beside others
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def here() -> list[str]:
    return hashes()


@pytest.mark.parametrize(
    "cpu",
    [
        pytest.param("AVX2", marks=pytest.mark.long),
        pytest.param("SSE4", marks=pytest.mark.slow),  # neither wide vectors nor FMA
    ],
)
def test_trees_and_metrics_are_the_same_on_another_cpu(cpu, here):
    assert hashes(**CPUS[cpu]) == here


@pytest.mark.long
def test_networks_are_the_same_with_the_same_blas():
    of_haswell = hashes(NETWORKS, OPENBLAS_CORETYPE="Haswell")
    assert hashes(NETWORKS, **CPUS["AVX2"]) == of_haswell
