"""RankLib: lines, of which those of ``#`` are left out, are one XML document."""

from __future__ import annotations

from typing import Any
from xml.dom import minidom

import numpy as np

from tests.export.readers import descend, float32_sum


def predict(text: str, X: np.ndarray) -> np.ndarray:
    """Score float32 rows; missing values are 0, and features count from 1."""
    text.encode("ascii")
    lines = text.split("\n")
    assert lines[0].removeprefix("## ").strip().upper() == "LAMBDAMART"
    document = minidom.parseString(
        "".join(line.strip() for line in lines if not line.startswith("#"))
    )
    X = np.nan_to_num(X.astype(np.float32), nan=0.0, posinf=np.inf, neginf=-np.inf)

    def split(node: Any, rows: np.ndarray) -> Any:
        if node.firstChild.nodeName != "feature":
            return None
        feature, threshold, left, right = node.childNodes
        fid = int(feature.firstChild.nodeValue)
        x = rows[:, fid - 1]
        return x <= np.float32(threshold.firstChild.nodeValue), left, right

    values = []
    for tree in document.getElementsByTagName("tree"):
        assert float(tree.attributes["weight"].nodeValue) == 1
        values.append(
            descend(
                tree.firstChild,
                X,
                split,
                lambda node: float(node.firstChild.firstChild.nodeValue),
            )
        )
    return float32_sum(values)
