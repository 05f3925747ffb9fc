"""The code of the guide runs, block after block, and prints what it says."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "clicks.md"


@pytest.mark.slow
def test_the_python_of_the_guide_runs(capsys):
    import matplotlib.pyplot as plt

    blocks = re.findall(
        r"^```python\n(.*?)^```", GUIDE.read_text("utf-8"), flags=re.M | re.S
    )
    assert len(blocks) == 11
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(GUIDE), "exec"), names)
    plt.close("all")
    model, estimate = names["model"], names["estimate"]
    error = np.abs(model.propensities_ - names["log"].propensities)[1:]
    assert (error < 4 * model.standard_errors_[1:]).all()
    truth = names["log"].propensities
    assert np.abs(names["regression"].propensities_ - truth).mean() < 0.06
    by_ranknet = names["ranknet"].predict(names["features"])
    assert np.corrcoef(by_ranknet, names["data"].utility)[0, 1] > 0.5
    assert estimate.value > 2 * estimate.standard_error
    assert names["result"].p_value < 0.05 < 0.5 < names["result"].preference_a
    printed = capsys.readouterr().out
    assert "true [0.5  0.33 0.25]" in printed
    ndcg = [
        float(re.search(f"^{name} +([0-9.]+)$", printed, flags=re.M)[1])
        for name in ("naive", "additive", "pairwise", "known")
    ]
    assert ndcg[0] + 0.01 < min(ndcg[1:])  # 0.63 and 0.68, 0.65, 0.76
