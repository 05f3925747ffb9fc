"""What is written on pictures."""

from __future__ import annotations

from sklearn_ltr.metrics import Metric


def name_of_metric(metric: Metric) -> str:
    """Return the name of a metric's class with its cutoff, such as "NDCG@10"."""
    name = type(metric).__name__
    return name if metric.k is None else f"{name}@{metric.k}"


def as_written(text: object, longest: int = 32) -> str:
    """Return text from data, a query or the name of a column, as matplotlib shows it.

    A long text loses its middle: head and tail tell it from others.  Dollar signs stay
    what they are; matplotlib would set what stands between two of them as a formula.
    """
    text = str(text)
    if len(text) > longest:
        tail = (longest - 1) // 2
        text = f"{text[: longest - 1 - tail]}…{text[-tail:]}"
    return text.replace("$", r"\$")
