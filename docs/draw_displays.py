"""Draw every display on one sheet, and each beside it as seen with deuteranopia.

    python docs/draw_displays.py docs/images/displays.png

The sheet is shown in `api.md`.  Its data are made, and the fits take seconds.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image
from sklearn.preprocessing import StandardScaler

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, plotting
from sklearn_ltr.calibration import CalibratedRanker
from sklearn_ltr.clicks import (
    InterventionHarvesting,
    PositionBasedModel,
    simulate_clicks,
)
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.model_selection import RankerSearch, compare_rankers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

N_COLUMNS = 2  # of plain pictures, each with the other at its right
SIZE, DPI = (4.6, 3.7), 80  # of a picture, in inches
N_COLORS = 255  # of the file
# Linear RGB as seen with deuteranopia: Machado, Oliveira and Fernandes, "A
# Physiologically-based Model for Simulation of Color Vision Deficiency", IEEE
# Transactions on Visualization and Computer Graphics 15 (2009), severity 1.0
DEUTERANOPIA = [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.011820, 0.042940, 0.968881],
]
NAMES = ["title match", "text match", "price", "days online", "links", "rating"]


def draw_all(axes: dict[str, Axes]) -> None:
    """Draw each display on the axes of its name."""
    data = make_ranking(n_queries=150, n_features=6, n_informative=4, random_state=0)
    X = pd.DataFrame(StandardScaler().fit_transform(data.data), columns=NAMES)
    y, groups, test = data.target, data.groups, data.groups >= 90
    train = {"X": X[~test], "y": y[~test], "groups": groups[~test]}
    held_out = {"X": X[test], "y": y[test], "groups": groups[test]}
    validation = {f"{name}_val": values for name, values in held_out.items()}
    seed = {"random_state": 0}
    trees = LambdaMARTRanker(n_estimators=60, n_iter_no_change=15, **seed)
    trees.fit(**train, **validation)
    rankers = {
        "trees": trees,
        "network": LambdaRankRanker(**seed).fit(**train),
        "linear": LambdaRankRanker(hidden_layer_sizes=(), **seed).fit(**train),
    }
    scores = {name: ranker.predict(X[test]) for name, ranker in rankers.items()}
    search = RankerSearch(time=None, n_iter=12, **seed).fit(**train)
    calibrated = CalibratedRanker(trees).fit(**train)
    query = groups == 90
    order = np.argsort(-trees.predict(X[query]))
    ids = [f"product {number}" for number in range(len(order))]

    def draw(display: str, how: str, *given: Any, **named: Any) -> None:
        getattr(getattr(plotting, display), how)(*given, **named, ax=axes[display])

    by_model, by_score = "from_estimator", "from_predictions"
    labelled = {"y_true": y[test], "groups": groups[test]}
    two = scores["network"], scores["trees"]
    called = {"names": ("network", "trees")}
    draw("TrainingCurveDisplay", by_model, trees)
    draw("CutoffCurveDisplay", by_score, y_score=scores, **labelled)
    draw("SearchTraceDisplay", "from_search", search)
    comparison = compare_rankers(rankers, **held_out)
    draw("RankerComparisonDisplay", "from_comparison", comparison)
    draw(
        "QueryComparisonDisplay", by_score, y[test], *two, groups=groups[test], **called
    )
    draw("FeatureImportancesDisplay", by_model, trees)
    pair = {"document": order[0], "other": order[2], "document_names": ids}
    draw("ShapValuesDisplay", by_model, trees, X[query], groups=groups[query], **pair)
    draw("ShapHeatmapDisplay", by_model, trees, X[query])
    draw("ShapBeeswarmDisplay", by_model, trees, X[test])
    draw("GradeReliabilityDisplay", by_model, calibrated, **held_out, name="trees")
    draw("BlendCurveDisplay", by_score, y[test], *two, groups=groups[test], **called)
    one = {"groups": groups[query], "metrics": (None, "ndcg@10", "map")}
    draw("ForcesDisplay", by_score, y[query], X[query]["rating"], **one)
    draw("WeightCurvesDisplay", by_model, rankers["linear"], **train)
    draw(
        "TreeDisplay",
        by_model,
        LambdaMARTRanker(n_estimators=1, max_depth=2, **seed).fit(**train),
    )

    log = simulate_clicks(y, X[NAMES[:3]].to_numpy(), groups=groups, **seed)
    columns = ("groups", "documents", "positions", "sessions")
    models = [
        model.fit(log.clicks, **{name: log[name] for name in columns})
        for model in (InterventionHarvesting(), PositionBasedModel())
    ]
    truth = {"true_propensities": log.propensities}
    draw("PropensityCurveDisplay", "from_estimators", models, **truth)

    clicks = np.random.default_rng(0).random(len(y)) < 0.2 * y
    labels = np.column_stack([clicks, clicks & (X["price"] < 0)]).astype(float)
    shares = (0, 0.25, 0.5, 0.75, 1)
    by_share = [
        LambdaMARTRanker(n_estimators=40, label_weights=[1 - share, share], **seed)
        .fit(X[~test], labels[~test], groups=groups[~test])
        .predict(X[test])
        for share in shares
    ]
    draw("ParetoDisplay", by_score, labels[test], {"share of purchases": by_share},
         groups=groups[test], labels={"clicks": 0, "purchases": 1},
         point_names=[f"{share:.0%}" for share in shares])  # fmt: skip


def seen_with_deuteranopia(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return an RGB image with the colors that are seen in place of its own."""
    srgb = image / 255
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(linear @ np.transpose(DEUTERANOPIA), 0, 1)
    srgb = np.where(seen <= 0.0031308, 12.92 * seen, 1.055 * seen ** (1 / 2.4) - 0.055)
    return np.round(255 * srgb).astype(np.uint8)


def main(path: str) -> None:
    """Write the sheet."""
    names = plotting.__all__
    shape = -(-len(names) // N_COLUMNS), N_COLUMNS
    size = SIZE[0] * shape[1], SIZE[1] * shape[0]
    figure = Figure(size, dpi=DPI, layout="constrained")
    axes = {}
    for name, part in zip(names, figure.subfigures(*shape).flat, strict=False):
        part.suptitle(name, fontsize="medium", fontweight="bold")
        axes[name] = part.subplots()
    draw_all(axes)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    plain = np.asarray(canvas.buffer_rgba())[..., :3]
    columns = []
    for column in np.split(plain, N_COLUMNS, axis=1):
        columns += [column, seen_with_deuteranopia(column)]
    sheet = Image.fromarray(np.hstack(columns))
    method = Image.Quantize.FASTOCTREE
    sheet.quantize(N_COLORS, method, dither=Image.Dither.NONE).save(path, optimize=True)


if __name__ == "__main__":
    main(sys.argv[1])
