"""The code of the guide runs, block after block, and finds what it says."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
import sklearn

from tests.docs.installation import extras_of, only

pytest.importorskip("matplotlib")

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "clicks.md"


@pytest.mark.slow
def test_the_python_of_the_guide_runs(capsys):
    import matplotlib.pyplot as plt

    blocks = re.findall(
        r"^```python\n(.*?)^```", GUIDE.read_text("utf-8"), flags=re.M | re.S
    )
    names: dict[str, object] = {"__name__": "page"}
    # a block enables metadata routing
    installed = only(extras_of(GUIDE.read_text("utf-8")))
    with installed, sklearn.config_context(), warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing on the page warns
        for block in blocks:
            exec(compile(block, str(GUIDE), "exec"), names)
    plt.close("all")
    simulated, truth = names["simulated"], names["simulated"].propensities
    parts = [names[part]["session"].to_numpy() - 1 for part in ("log", "later")]
    assert parts[0].max() < parts[1].min()  # the later sessions are put aside
    np.testing.assert_array_equal(np.concatenate(parts), simulated.sessions)
    error = np.abs(names["harvesting"].propensities_ - truth)[1:]
    assert (error < 4 * names["harvesting"].standard_errors_[1:]).all()
    dates, folds = names["dates"].to_numpy(), names["search"].cv
    for train, test in folds.split(groups=names["sessions"], order=dates):
        assert dates[train].max() + np.timedelta64(60, "m") < dates[test].min()
    ndcg = names["ndcg"]
    for method, other in (
        ("naive", "ranker in use"), ("corrected", "naive"), ("additive", "naive"),
    ):  # fmt: skip
        gain = ndcg[method] - ndcg[other]
        assert gain.mean() > 2 * gain.std(ddof=1) / len(gain) ** 0.5
    by_grades = names["by_grades"]
    assert by_grades["sum"] < ndcg["corrected"].mean() < by_grades["attractiveness"]
    true_of_one = names["one_list"].propensities
    # 0.04; of clicks as they are it would be 0.71
    assert np.abs(names["regression"].propensities_ - true_of_one).mean() < 0.06
    assert names["values"] > ndcg["naive"].mean()  # RankNet from preferences
    result, printed = names["result"], capsys.readouterr().out
    assert result.p_value < 0.05 < 0.5 < result.preference_a
    assert "in truth [0.5  0.33 0.25]" in printed
    judged = re.findall(r"^(\w+ ?\w+) +DCG@5 \+([\d.]+) ± ([\d.]+)$", printed, re.M)
    values = {log: (float(value), float(error)) for log, value, error in judged}
    gain, error = values["learned from"]
    assert gain > 2 * error
    # on logs that were put aside the same two rankers differ less
    assert max(values["later"][0], values["other queries"][0]) < gain - error
