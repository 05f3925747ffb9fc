"""Names of measures: those of this package, of trec_eval and of ir_measures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr.metrics import (
    MAP,
    MRR,
    NDCG,
    RBP,
    BPref,
    HitRate,
    Metric,
    Precision,
    Recall,
    RPrecision,
    get_metric,
)
from sklearn_ltr.metrics._metric import METRICS

BoolArray: TypeAlias = NDArray[np.bool_]

#: trec_eval's names of measures; a cutoff follows behind "_", or several behind "."
MEASURES: dict[str, Callable[..., Metric]] = {
    "map": MAP,
    "map_cut": MAP,
    "gm_map": MAP,  # of which the geometric mean is taken
    "ndcg": partial(NDCG, gain="linear"),
    "ndcg_cut": partial(NDCG, gain="linear"),
    "recip_rank": MRR,
    "P": Precision,
    "recall": Recall,
    "success": HitRate,
    "Rprec": RPrecision,
    "bpref": BPref,
    "rbp": partial(RBP, persistence=0.9),
}
LEAST_OF_GEOMETRIC_MEAN = 0.00001  # what a lower value counts in trec_eval's gm_map
#: trec_eval's counts of a query: of documents that are relevant, and retrieved
COUNTS: dict[str, Callable[[BoolArray, BoolArray], BoolArray]] = {
    "num_ret": lambda relevant, retrieved: retrieved,
    "num_rel": lambda relevant, retrieved: relevant,
    "num_rel_ret": lambda relevant, retrieved: relevant & retrieved,
}
#: Names of ir_measures, and trec_eval's; a cutoff follows behind "@"
IR_MEASURES = {
    "AP": "map",
    "nDCG": "ndcg",
    "RR": "recip_rank",
    "P": "P",
    "R": "recall",
    "Success": "success",
    "Rprec": "Rprec",
    "Bpref": "bpref",
}


def metrics_of(
    name: str, for_run: bool, level: float | None
) -> dict[str, Metric | None]:
    """Return the metrics of a name, of which trec_eval's may have several cutoffs."""
    if name in COUNTS:
        return {name: None}
    start, dot, cutoffs = name.partition(".")
    names = [name]
    if dot and start in MEASURES:
        names = [f"{start}_{cutoff}" for cutoff in cutoffs.split(",")]
    return {each: at_level(metric_of(each, for_run), level) for each in names}


def metric_of(name: str, for_run: bool) -> Metric:
    """Return the metric of a single name."""
    if name in MEASURES and (for_run or name not in METRICS):  # else it is ours
        return MEASURES[name]()
    ours = {measure: measure for measure in MEASURES}
    for names, separator in ((ours, "_"), (IR_MEASURES, "@")):
        start, _, cutoff = name.rpartition(separator)
        if start in names and cutoff.isdecimal() and int(cutoff) > 0:
            return MEASURES[names[start]](int(cutoff))
    if name in IR_MEASURES:
        return MEASURES[IR_MEASURES[name]]()
    return get_metric(name.lower() if name.isupper() else name)


def at_level(metric: Metric, level: float | None) -> Metric:
    """Return a metric whose relevant documents have at least this grade."""
    if level is None or "relevant_from" not in {field.name for field in fields(metric)}:
        return metric  # as in trec_eval, metrics of grades do not change
    changed: dict[str, Any] = {"relevant_from": level}
    return replace(metric, **changed)
