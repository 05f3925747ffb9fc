"""The two metrics of models, with their standard errors."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import sem

from sklearn_ltr.metrics import MAP, NDCG
from sklearn_ltr.plotting import ParetoDisplay

RNG = np.random.default_rng(0)
GROUPS = np.repeat(np.arange(20), 6)
Y = np.column_stack([RNG.integers(0, 3, 120), RNG.integers(0, 2, 120)]).astype(float)
Y[RNG.random(120) < 0.2, 1] = np.nan
SCORES = RNG.normal(size=(4, 120))
CURVES = {"weights": list(SCORES[:3]), "one": [SCORES[3]]}


def test_points_are_means_of_the_metrics_with_standard_errors(ax):
    names = {"weights": ["1:0", "1:1", "0:1"]}
    display = ParetoDisplay.from_predictions(
        Y, CURVES, groups=GROUPS, metric=["ndcg@3", "map"], ax=ax, point_names=names
    )
    judged = ~np.isnan(Y[:, 1])
    for name, models in CURVES.items():
        for i, scores in enumerate(models):
            x = NDCG(3).per_query(Y[:, 0], scores, groups=GROUPS)
            own = Y[judged, 1], scores[judged]
            y = MAP().per_query(*own, groups=GROUPS[judged])
            assert_allclose(display.x[name][i], x.mean())
            assert_allclose(display.y[name][i], y.mean())
            assert_allclose(display.x_errors[name][i], sem(x))
            assert_allclose(display.y_errors[name][i], sem(y))
    assert [text.get_text() for text in display.texts_] == names["weights"]
    suffix = " (mean ± standard error, unpaired)"
    assert ax.get_xlabel().replace("\n", " ") == f"NDCG@3 of label 0{suffix}"
    assert ax.get_ylabel().replace("\n", " ") == f"MAP of label 1{suffix}"
    drawn = display.curves_[0].lines[0].get_xydata()
    assert_allclose(drawn, np.transpose([display.x["weights"], display.y["weights"]]))


def test_labels_are_columns_of_a_frame(ax):
    frame = pytest.importorskip("pandas").DataFrame(Y, columns=["clicks", "bought"])
    found = ParetoDisplay.from_predictions(
        frame, CURVES, groups=GROUPS, labels=["bought", "clicks"], ax=ax
    )
    other = ParetoDisplay.from_predictions(Y, CURVES, groups=GROUPS, ax=ax)
    assert found.x_name == "NDCG@10 of bought"
    assert_allclose(found.x["weights"], other.y["weights"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": [0]}, "labels must be two columns of y_true"),
        ({"labels": [0, 2]}, "labels: label=2 is no column of y"),
        ({"metric": ["map"]}, "metric one for both or two"),
        ({"y_score": {}}, "y_score must be a dict with a list of scores"),
        ({"y_score": {"a": [SCORES[0][1:]]}}, r"y_score\['a'\] must hold one number"),
        ({"y_true": -Y}, r"y_true\[:, 0\] must hold finite relevance grades >= 0, or"),
    ],
)
def test_what_cannot_be_drawn_is_refused(changes, message):
    given = {"y_true": Y, "y_score": CURVES, "groups": GROUPS} | changes
    with pytest.raises(ValueError, match=message):
        ParetoDisplay.from_predictions(**given)
