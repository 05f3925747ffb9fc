"""The strings that name metrics: ``"ndcg"``, ``"ndcg@10"``, ``"map"``..."""

from __future__ import annotations

from difflib import get_close_matches

from sklearn_ltr.metrics._average_precision import MAP
from sklearn_ltr.metrics._bpref import BPref
from sklearn_ltr.metrics._dcg import CG, DCG, NDCG
from sklearn_ltr.metrics._err import ERR
from sklearn_ltr.metrics._metric import Metric
from sklearn_ltr.metrics._precision import Precision, Recall
from sklearn_ltr.metrics._r_precision import RPrecision
from sklearn_ltr.metrics._rbp import RBP
from sklearn_ltr.metrics._reciprocal_rank import MRR, HitRate

METRICS: dict[str, type[Metric]] = {
    metric.short_name: metric
    for metric in (
        NDCG,
        DCG,
        CG,
        MAP,
        MRR,
        ERR,
        Precision,
        Recall,
        HitRate,
        RPrecision,
        BPref,
        RBP,
    )  # fmt: skip
}

MOST_DIGITS = 18  # of a cutoff; k must fit in int64


def get_metric(metric: str | Metric) -> Metric:
    """Return the metric of a name such as ``"ndcg"`` or ``"ndcg@10"``.

    Parameters
    ----------
    metric : str or Metric
        ``"ndcg"``, ``"dcg"``, ``"cg"``, ``"map"``, ``"mrr"``, ``"err"``,
        ``"precision"``, ``"recall"``, ``"hit_rate"``, ``"rprec"``, ``"bpref"`` or
        ``"rbp"``, with or without a cutoff ``"@k"``.  A metric
        object is returned as it is.

    Returns
    -------
    Metric

    Raises
    ------
    ValueError
        If the name is unknown, or the part after ``@`` is not an integer >= 1.
    TypeError
        If ``metric`` is neither a string nor a metric object.

    Examples
    --------
    >>> from sklearn_ltr.metrics import get_metric
    >>> get_metric("mrr@10")
    MRR(k=10)
    """
    if isinstance(metric, Metric):
        return metric
    if not isinstance(metric, str):
        raise TypeError(
            "metric must be a name such as 'ndcg@10' or a metric object such as "
            f"NDCG(10), got {metric!r}"
        )
    name, at, cutoff = metric.partition("@")
    if name not in METRICS:
        close = get_close_matches(name.lower(), METRICS, n=1)
        hint = f"Did you mean {close[0] + at + cutoff!r}? " if close else ""
        raise ValueError(
            f"unknown metric {metric!r}. {hint}The names are {', '.join(METRICS)}, "
            "each with or without a cutoff k, as in 'ndcg@10'"
        )
    if not at:
        return METRICS[name]()
    if not cutoff.isdecimal() or len(cutoff) > MOST_DIGITS or int(cutoff) < 1:
        raise ValueError(
            f"metric {metric!r}: k, the part after '@', must be an integer >= 1"
        )
    return METRICS[name](int(cutoff))
