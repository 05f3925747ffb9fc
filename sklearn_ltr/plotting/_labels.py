"""What is written on pictures."""

from __future__ import annotations

from sklearn_ltr.metrics import Metric

LONGEST = 32  # characters


def name_of_metric(metric: Metric) -> str:
    """Return the name of a metric's class with its cutoff, such as "NDCG@10"."""
    name = type(metric).__name__
    return name if metric.k is None else f"{name}@{metric.k}"


def shortened(text: object, longest: int = LONGEST) -> str:
    """Leave out the middle of a long text: its head and tail tell it from others."""
    text = str(text)
    if len(text) <= longest:
        return text
    tail = (longest - 1) // 2
    return f"{text[: longest - 1 - tail]}…{text[-tail:]}"
