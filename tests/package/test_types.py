"""What a type checker sees of the public functions, in a program of a user's."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Lines that end in a type reveal it; of those that end in "error", mypy must complain
PROGRAM = """
import datetime
import numpy as np
import polars as pl
from scipy.sparse import csr_array
from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
from sklearn_ltr.clicks import simulate_clicks
from sklearn_ltr.calibration import CalibratedRanker
from sklearn_ltr.datasets import join_run, make_ranking
from sklearn_ltr.ensemble import BaggingRanker, BlendedRanker, best_blend
from sklearn_ltr.export import from_json, from_lightgbm, to_json, to_onnx
from sklearn_ltr.inspection import shap_values
from sklearn_ltr.mart import MARTClassifier, MARTRegressor
from sklearn_ltr.metrics import NDCG, ndcg_score
from sklearn_ltr.plotting import CutoffCurveDisplay
from sklearn_ltr.preprocessing import CategoryPairs

data = make_ranking(10, random_state=np.int64(0))
reveal_type(data.data)  # ndarray
reveal_type(data.groups)  # ndarray
ranker = LambdaMARTRanker().fit(data.data, data.target, groups=data.groups)
reveal_type(ranker)  # LambdaMARTRanker
reveal_type(ndcg_score([1, 0], (0.1, 0.2), groups=["a", "a"]))  # float
ndcg_score(pl.Series([1, 0]), np.ones(2), groups=[datetime.date(2020, 1, 1)] * 2)
ndcg_score([1, 0], [0.1, 0.2], groups=[("a", 1), ("b", 2)], sample_weight=[1, 2])
ndcg_score({1: 0}, [0.1], groups=[1])  # error
ndcg_score([1, 0], [0.1, 0.2], groups=None)  # error
reveal_type(NDCG(10).per_query([1], [1.0], groups=[0]))  # ndarray
for X in (data.data, [[1.0, 2.0]], csr_array(data.data), pl.DataFrame({"a": [1.0]})):
    reveal_type(shap_values(ranker, X).values)  # ndarray
shap_values(ranker, None)  # error
reveal_type(from_json(to_json(ranker)).predict(data.data))  # ndarray
reveal_type(from_lightgbm("model.txt"))  # LambdaMARTRanker
from_json(1.5)  # error
display = CutoffCurveDisplay.from_predictions([1], {"a": [1.0]}, groups=[0])
reveal_type(display.plot())  # CutoffCurveDisplay
pairs = CategoryPairs()
reveal_type(pairs.transform(pl.DataFrame({"a": ["x"]})))  # DataFrame
log = simulate_clicks(data.target, data.utility, groups=data.groups)
reveal_type(log.clicks)  # ndarray
LambdaMARTRanker(monotonic_cst={"a": 1}, random_state=np.int64(0)).fit(
    pl.DataFrame({"a": [1.0]}), pl.Series([1]), groups=pl.Series(["q"]),
    X_val=(data.data, [[1.0]]), y_val=(data.target, [1]), groups_val=([1], ["a"]),
)
LambdaMARTRanker().fit(data.data, {1: 0})  # error
LambdaMARTRanker(None).fit(data.data, pairs=[(0, 1)], pair_probabilities=[0.9])
LambdaMARTRanker(None).fit(data.data, pairs=[(0, 1)], pair_weights=[2])
LambdaMARTRanker(categorical_features={1: 2})  # error
LambdaRankRanker(solver_params={"momentum": 0}, hidden_layer_sizes=())
RankNetRanker().fit(csr_array(data.data), pairs=[[0, 1]], pair_probabilities=[0.9])
reveal_type(RankNetRanker().predict_pair_proba([[1.0]], [[2.0]]))  # ndarray
reveal_type(ranker.rank(data.data, groups=data.groups))  # ndarray
reveal_type(MARTRegressor().fit(data.data, [1.0]).predict(data.data))  # ndarray
reveal_type(MARTClassifier(class_weight={"a": 2}).predict_proba([[1.0]]))  # ndarray
bag = BaggingRanker(ranker).fit(data.data, [1], positions=[0])
reveal_type(bag.merge())  # LambdaMARTRanker
calibrated = CalibratedRanker(ranker, cv=3).fit(data.data, [1])
reveal_type(calibrated.predict_grade(data.data, groups=[1]))  # ndarray
BlendedRanker([("a", ranker), MARTRegressor()], cv=[([0], [1])]).fit(data.data, [1])
reveal_type(best_blend([1.0], (2.0,), [1], groups=["a"]).alpha)  # float
run = {"groups": [1], "documents": ["a"], "scores": [1.0]}
reveal_type(join_run(run, pl.DataFrame()).y_true)  # ndarray
"""


@pytest.mark.slow
def test_a_type_checker_sees_what_public_functions_take_and_return(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    done = subprocess.run(
        [
            sys.executable, "-m", "mypy", "--config-file=", f"--cache-dir={tmp_path}",
            "--strict", "--ignore-missing-imports", str(path),
        ],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    said = {
        int(line): text
        # the first of a line, which notes follow
        for line, text in reversed(re.findall(r"program\.py:(\d+): (.*)", done.stdout))
    }
    for number, line in enumerate(PROGRAM.splitlines(), start=1):
        _, _, expected = line.partition("  # ")
        if expected == "error":
            assert said.pop(number).startswith("error"), line
        elif expected:
            revealed = said.pop(number)
            revealed_type = rf'note: Revealed type is "[\w.]*\b{expected}\b'
            assert re.match(revealed_type, revealed), (line, revealed)
    assert said == {}
