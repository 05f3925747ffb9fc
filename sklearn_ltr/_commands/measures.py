"""Names of measures: those of this package, of trec_eval and of ir_measures."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._commands.lists import (
    TREC_EVAL_9,
    TREC_EVAL_10,
    EvaluatedLists,
    interpolated_precision,
    mean_interpolated_precision,
)
from sklearn_ltr._core.typing import FloatArray, IntArray
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

LEAST_OF_GEOMETRIC_MEAN = 0.00001  # lowest value in trec_eval's gm_map


class NamedMeasure(NamedTuple):
    """A measure: how to compute its values of queries, and their summary."""

    compute: Metric | Callable[[EvaluatedLists], NDArray[Any]]
    summary: Callable[[NDArray[Any]], Any] = np.mean
    by_query: bool = True  # whether trec_eval prints the values of queries
    level: float | None = None  # the lowest relevant grade, if the name has one

    @property
    def is_of_relevant(self) -> bool:
        """Whether it tells relevant documents from others, not grade from grade."""
        if isinstance(self.compute, Metric):
            return getattr(self.compute, "relevant_from", 0) is None
        return self.level is None


def geometric_mean(values: FloatArray) -> float:
    """Return the geometric mean of queries, none of which counts 0."""
    return float(np.exp(np.log(np.maximum(values, LEAST_OF_GEOMETRIC_MEAN)).mean()))


def share(counted: IntArray, total: IntArray) -> FloatArray:
    """Return counted / total of each query, 0 if total is 0."""
    return np.asarray(counted / np.maximum(total, 1))


#: trec_eval's names of metrics; a cutoff follows after "_", or several after "."
MEASURES: dict[str, Callable[..., Metric]] = {
    "map": MAP,
    "map_cut": MAP,
    "gm_map": MAP,
    "ndcg": partial(NDCG, gain="linear"),
    "ndcg_cut": partial(NDCG, gain="linear"),
    "recip_rank": MRR,
    "P": Precision,
    "relative_P": partial(Recall, divide_by="at_most_k"),
    "recall": Recall,
    "success": HitRate,
    "Rprec": RPrecision,
    "bpref": BPref,
    "gm_bpref": BPref,
    "rbp": partial(RBP, persistence=0.9),
}
#: trec_eval's measures that are not metrics of this package: counts, and values of
#: the set of retrieved documents
LIST_MEASURES = {
    "runid": NamedMeasure(
        lambda lists: np.array([lists.tag]), lambda tag: tag[0], False
    ),
    "num_q": NamedMeasure(lambda lists: np.ones_like(lists.n_relevant), np.sum, False),
    "num_ret": NamedMeasure(lambda lists: lists.n_retrieved, np.sum),
    "num_rel": NamedMeasure(lambda lists: lists.n_relevant, np.sum),
    "num_rel_ret": NamedMeasure(lambda lists: lists.n_found, np.sum),
    "set_P": NamedMeasure(lambda lists: share(lists.n_found, lists.n_retrieved)),
    "set_recall": NamedMeasure(lambda lists: share(lists.n_found, lists.n_relevant)),
    "set_relative_P": NamedMeasure(
        lambda lists: share(
            lists.n_found, np.minimum(lists.n_retrieved, lists.n_relevant)
        )
    ),
    # precision times recall, and their harmonic mean
    "set_map": NamedMeasure(
        lambda lists: (
            share(lists.n_found, lists.n_retrieved)
            * share(lists.n_found, lists.n_relevant)
        )
    ),
    "set_F": NamedMeasure(
        lambda lists: share(2 * lists.n_found, lists.n_retrieved + lists.n_relevant)
    ),
    "11pt_avg": NamedMeasure(mean_interpolated_precision),
}
CUTOFFS = ["5", "10", "15", "20", "30", "100", "200", "500", "1000"]
IPREC = "iprec_at_recall"
#: What trec_eval takes where no cutoffs, or shares of recall, are given
DEFAULTS = {
    **dict.fromkeys(("P", "recall", "relative_P", "ndcg_cut", "map_cut"), CUTOFFS),
    "success": ["1", "5", "10"],
    IPREC: [str(tenth / 10) for tenth in range(11)],
}
#: How recall levels are rounded: names follow trec_eval, or ir_measures
ROUNDING = {IPREC: TREC_EVAL_10, "IPrec": TREC_EVAL_9}
#: trec_eval's names of several measures; it prints the first ones if given none
SEVERAL = {
    "official": (
        "runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec",
        "bpref", "recip_rank", IPREC, "P",
    ),
    "set": tuple(name for name in LIST_MEASURES if name.startswith("set_")),
}  # fmt: skip
SEVERAL["all_trec"] = (
    *dict.fromkeys([*SEVERAL["official"], *MEASURES, *DEFAULTS, *LIST_MEASURES]),
)
#: Names of ir_measures, and trec_eval's; a cutoff follows after "@"
IR_MEASURES = {
    "AP": "map",
    "nDCG": "ndcg",
    "RR": "recip_rank",
    "P": "P",
    "R": "recall",
    "Success": "success",
    "Rprec": "Rprec",
    "Bpref": "bpref",
    "IPrec": "IPrec",
    "SetP": "set_P",
    "SetR": "set_recall",
    "SetRelP": "set_relative_P",
    "SetAP": "set_map",
    "SetF": "set_F",
    "NumQ": "num_q",
    "NumRet": "num_ret",
    "NumRel": "num_rel",
}
#: for the help
OF_MEASURES = (
    "Metrics are named as in Python, ndcg@10, map, err@20, ..., or as in trec_eval, "
    f"{', '.join(dict.fromkeys([*MEASURES, *DEFAULTS, *LIST_MEASURES]))}, with "
    "cutoffs: ndcg_cut_10, P.5,10 (and several at once: "
    f"{', '.join(SEVERAL)}); or as in ir_measures, {', '.join(IR_MEASURES)}: nDCG@10, "
    "P(rel=2)@5.  NDCG has exponential gains in the first, linear ones in the others.  "
    "Levels of recall are rounded as in trec_eval 10; those of IPrec as in trec_eval "
    "9, which ir_measures has."
)
CUTOFF = re.compile(r"[0-9]{1,18}")
# NumRet(rel=1) counts other documents than NumRet
WITH_LEVEL = re.compile(r"((?!NumRet)[A-Za-z]+)\(rel=([1-9][0-9]{,17})\)(@.*|)")
RECALL = re.compile(r"[01]?\.[0-9]*|[01]")


def is_measure(name: str) -> bool:
    """Return whether there is a measure of this name."""
    try:
        return bool(measures_of(name, True, None))
    except ValueError:
        return False


def measures_of(
    name: str, for_run: bool, level: float | None
) -> dict[str, NamedMeasure]:
    """Return the measures of a name, of which trec_eval's may have several cutoffs."""
    if name in SEVERAL:
        named = [measures_of(each, True, level) for each in SEVERAL[name]]
        return {each: of[each] for of in named for each in of}
    start, dot, listed = name.partition(".")
    is_ours = name in METRICS and not for_run  # recall, without a cutoff
    if dot and (start in MEASURES or start in DEFAULTS):
        cutoffs = listed.split(",")
    elif name in DEFAULTS and not is_ours:
        cutoffs = DEFAULTS[name]
    elif name in LIST_MEASURES:
        return {name: LIST_MEASURES[name]}
    elif name in MEASURES and not is_ours:
        return {name: measure_at(name, name, None, level)}
    else:
        return {name: measure_of(name, level)}
    found = {}
    for cutoff in cutoffs:
        measure = measure_at(name, start, cutoff, level)
        shown = f"{read_recall(name, cutoff):.2f}" if start == IPREC else cutoff
        found[f"{start}_{shown}"] = measure
    return found


def measure_of(name: str, level: float | None) -> NamedMeasure:
    """Return the measure of a name with a cutoff, of ir_measures, or of ours."""
    start, _, cutoff = name.rpartition("_")
    if (start in MEASURES or start == IPREC) and cutoff[:1].isdecimal():
        return measure_at(name, start, cutoff, level)
    if with_level := WITH_LEVEL.fullmatch(name):
        own = float(with_level[2])
        return measure_of(with_level[1] + with_level[3], own)._replace(level=own)
    start, at, cutoff = name.partition("@")
    if start in IR_MEASURES:
        return measure_at(name, IR_MEASURES[start], cutoff if at else None, level)
    try:
        metric = get_metric(name.lower() if name.isupper() else name)
    except ValueError as error:
        raise ValueError(
            f"{error}; trec_eval's are {', '.join([*SEVERAL, *DEFAULTS])}, ... "
            "(evaluate --help)"
        ) from error
    return NamedMeasure(at_level(metric, level))


def measure_at(
    name: str, start: str, cutoff: str | None, level: float | None
) -> NamedMeasure:
    """Return the measure of trec_eval's name `start`; `name` is what was typed."""
    if start in ROUNDING:
        recall, rounding = read_recall(name, cutoff), ROUNDING[start]
        return NamedMeasure(
            lambda lists: interpolated_precision(lists, recall, rounding)
        )
    if start in LIST_MEASURES:
        if cutoff is not None:
            raise ValueError(f"metric {name!r}: {start} takes no cutoff; leave it out")
        return LIST_MEASURES[start]
    if cutoff is not None and (not CUTOFF.fullmatch(cutoff) or int(cutoff) < 1):
        raise ValueError(
            f"metric {name!r}: a cutoff must be an integer >= 1, got {cutoff!r}"
        )
    k = None if cutoff is None else int(cutoff)
    summary = geometric_mean if start.startswith("gm_") else np.mean
    return NamedMeasure(at_level(MEASURES[start](k), level), summary)


def read_recall(name: str, text: str | None) -> float:
    """Return a recall; a ValueError if it is not a number from 0 to 1."""
    if text is None or not RECALL.fullmatch(text) or text == "." or float(text) > 1:
        raise ValueError(
            f"metric {name!r}: give the recall, a number from 0 to 1, as in "
            f"{IPREC}.0.1,0.2; got {text!r}"
        )
    return float(text)


def at_level(metric: Metric, level: float | None) -> Metric:
    """Return a metric whose relevant documents have at least this grade."""
    if level is None or "relevant_from" not in {field.name for field in fields(metric)}:
        return metric  # as in trec_eval, metrics of grades do not change
    changed: dict[str, Any] = {"relevant_from": level}
    return replace(metric, **changed)
