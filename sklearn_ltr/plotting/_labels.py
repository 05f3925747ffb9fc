"""Texts of plots: names of metrics, and labels taken from the data."""

from __future__ import annotations

from sklearn_ltr.metrics import Metric


def name_of_metric(metric: Metric) -> str:
    """Return the name of a metric's class with its cutoff, such as "NDCG@10"."""
    name = type(metric).__name__
    return name if metric.k is None else f"{name}@{metric.k}"


def escape_label(text: object, longest: int = 32) -> str:
    """Return a label from the data (a query or a feature name) for matplotlib.

    The middle of a long text is left out, since similar names often differ at either
    end.  Dollar signs are escaped; matplotlib would typeset the text between two of
    them as a formula.
    """
    text = str(text)
    if len(text) > longest:
        tail = (longest - 1) // 2
        text = f"{text[: longest - 1 - tail]}…{text[-tail:]}"
    return text.replace("$", r"\$")
