"""Print tables and cards of the documentation from stored results, as Markdown.

    python -m benchmarks.tables           # print them
    python -m benchmarks.tables --write   # put them into the pages

The text between ``<!-- table NAME -->`` and ``<!-- end -->`` in a page is what the
function of that name returns; a test compares the pages with what is stored.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Sequence
from operator import itemgetter
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np
from scipy.stats import sem, t

from benchmarks.quality.tuning import best_peer, first_time, highest, over_folds
from benchmarks.speed.two_versions import WORK
from benchmarks.tools.measuring import COUNTED, SUMS, extrapolated, seconds_of
from benchmarks.tools.paired import minus, paired, with_error
from benchmarks.tools.peers import ALL_ROWS, OURS
from benchmarks.tools.records import ROOT, read_json

RESULTS, DOCS = ROOT / "benchmarks/results", ROOT / "docs"
TABLE = re.compile(r"<!-- table (\w+) -->\n.*?<!-- end -->", flags=re.S)
PAGES = [
    page
    for page in (ROOT / "README.md", *sorted(DOCS.rglob("*.md")))
    if TABLE.search(page.read_text(encoding="utf-8"))
]

Record = dict[str, Any]


def records(script: str, **wanted: Any) -> list[Record]:
    """Return the stored results of a script that have these values."""
    found = read_json(RESULTS / f"{script}.jsonl")
    return [r for r in found if all(r.get(k) == v for k, v in wanted.items())]


def grouped(found: Iterable[Record], *fields: str) -> dict[Any, list[Record]]:
    """Return records by the value of a field, or by those of several."""
    groups: dict[Any, list[Record]] = {}
    for r in found:
        key = tuple(r[field] for field in fields)
        groups.setdefault(key if len(fields) > 1 else key[0], []).append(r)
    return groups


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]], once: int = 0) -> str:
    """Return a table; what rows have in common in the first columns is said `once`."""
    lines = [head, ["---"] * len(head), *said_once(rows, once)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def said_once(rows: Iterable[Sequence[str]], n_columns: int) -> Iterable[list[str]]:
    """Yield rows without the leading cells that are those of the row above."""
    above: Sequence[str] = []
    for row in rows:
        n_same = 0
        while n_same < n_columns and list(row[: n_same + 1]) == list(
            above[: n_same + 1]
        ):
            n_same += 1
        yield [*[""] * n_same, *row[n_same:]]
        above = row


def ratio(value: float, ours: float) -> str:
    times = value / ours
    return f"{times:.1f}" if times < 10 else f"{times:.0f}"


def name(library: str) -> str:
    return f"**{library}**" if library.startswith(OURS) else library


def fits_by_cpu(preset: str) -> dict[str, dict[str, list[Record]]]:
    """Return the runs of a preset by kind of CPU, the last one first, and library."""
    found = [
        r | {"cpu": cpu(r)} for r in records("fit", preset=preset) if "seconds" in r
    ]
    last_first = grouped(reversed(found), "cpu")
    return {
        of: grouped(sorted(reversed(runs), key=is_of_others), "library")
        for of, runs in last_first.items()
    }


def is_of_others(r: Record) -> bool:
    """Return whether a record is of another library."""
    return not r["library"].startswith(OURS)


def cpu(r: Record) -> str:
    """Return the maker and kind of the CPU of a record."""
    return "Intel Xeon" if "Xeon" in r["machine"] else "AMD EPYC"


def last_fits(preset: str) -> dict[str, list[Record]]:
    """Return the runs of a preset on the kind of CPU of the last one, by library."""
    return next(iter(fits_by_cpu(preset).values()))


def milliseconds(r: Record) -> float:
    """Return the median of a prediction, of which older results have no others."""
    stored = r.get("milliseconds_median")
    return 1000 * median(r["seconds"]) if stored is None else stored


def middle(runs: list[Record], field: str) -> float:
    """Return the median of a field."""
    return median(r[field] for r in runs)


def spread(runs: list[Record]) -> str:
    """Return the median of the seconds, and their range."""
    seconds = [r["seconds"] for r in runs]
    return f"{median(seconds):.2f} ({min(seconds):.2f} to {max(seconds):.2f})"


def speed() -> str:
    """What README shows: fits with NDCG@10, scores, SHAP values; times ours."""
    fits = [last_fits(preset) for preset in ("a", "b")]
    scored = {
        r["library"]: milliseconds(r) / 1000
        for r in records("predict", preset="31", rows=1_000_000, threads=2)
        if "note" not in r
    }
    scored["XGBoost hist"] = scored["XGBoost in place"]
    explained = {
        r["library"]: median(r["seconds"])
        for r in records("explain", preset="31", background=None)
        if (r["rows"], r["threads"]) == (10_000, 2)
    }
    rows = []
    for library in fits[0]:
        if library == ALL_ROWS:  # on the pages, for which README has no room
            continue
        cells = [name(library)]
        for of_preset in fits:
            cells.append("")
            if library in of_preset:
                runs = of_preset[library]
                cells[-1] = beside(
                    middle(runs, "seconds"), middle(of_preset[OURS], "seconds")
                )
                cells[-1] += f", {middle(runs, 'ndcg@10'):.3f}"
        for seconds in (scored, explained):
            known = library in seconds
            cells.append(beside(seconds[library], seconds[OURS]) if known else "")
        rows.append(cells)
    head = [
        "",
        "fit, 243,480 x 136, 100 trees of 31 leaves (`fit.py`)",
        "fit, 486,960 x 136, 50 of 255",
        "scores of 1,000,000 rows, 100 of 31 (`predict.py`)",
        "SHAP values of 10,000 rows, 100 of 31 (`explain.py`)",
    ]
    return markdown(head, rows)


def beside(seconds: float, ours: float) -> str:
    """Return seconds, and how many times ours they are."""
    text = f"{seconds:.1f} s" if seconds >= 1 else f"{seconds:.2f} s"
    return f"**{text}**" if seconds == ours else f"{text} ({ratio(seconds, ours)} x)"


def fit() -> str:
    """Seconds, memory and NDCG@10 of fits, by kind of CPU."""
    rows = []
    for preset, shape in (
        ("a", "243,480 x 136, 100 trees of 31 leaves"),
        ("b", "486,960 x 136, 50 trees of 255 leaves"),
        ("mslr", "723,379 x 136, 500 trees of 63 leaves"),
        ("wide", "149,984 x 700, 90% zeros, 100 trees of 31 leaves"),
    ):
        for of_cpu, fits in fits_by_cpu(preset).items():
            for library, runs in fits.items():
                seconds = middle(runs, "seconds"), middle(fits[OURS], "seconds")
                cells = [spread(runs), ratio(*seconds)]
                cells.append(f"{middle(runs, 'peak_mb'):.0f}")
                cells.append(f"{middle(runs, 'ndcg@10'):.3f}")
                rows.append([shape, of_cpu, name(library), *cells])
    head = ["data", "CPU", "", "seconds", "times ours", "peak MB", "NDCG@10"]
    return markdown(head, rows, once=2)


def chart() -> str:
    """Bars of the seconds of a fit, on the kind of CPU of the last run."""
    fits = last_fits("a")
    seconds = {of: middle(runs, "seconds") for of, runs in fits.items()}
    largest = max(seconds.values())
    bars = [
        f"<div{' class=ours' if of.startswith(OURS) else ''}><span>{of}</span>"
        f'<span><i style="width: {100 * s / largest:.1f}%"></i></span>'
        f"<span>{s:.1f} s</span></div>"
        for of, s in sorted(seconds.items(), key=lambda item: item[1])
    ]
    caption = (
        "Seconds to fit 100 trees of 31 leaves to 243,480 rows of 136 columns, two "
        f"threads, {cpu(fits[OURS][0])}"
    )
    lines = ['<figure class="bars">', *bars, f"<figcaption>{caption}</figcaption>"]
    return "\n".join([*lines, "</figure>"])


def shapes() -> str:
    """Seconds and NDCG@10 of fits of many shapes, beside the fastest peer."""
    of_shapes = grouped(records("shapes"), "shape").values()
    found = [grouped(runs, "library") for runs in of_shapes]
    rows, libraries = [], list(found[0])
    for of_library in found:
        seconds = {of: middle(runs, "seconds") for of, runs in of_library.items()}
        quality = {of: middle(runs, "ndcg@10") for of, runs in of_library.items()}
        r = of_library[OURS][0]
        lists = f"{r['n_queries']:,} x {r['n_documents']:,} x {r['n_features']}"
        cells = [f"{lists}, {r['n_estimators']} trees"]
        if r.get("n_categorical", 0):
            cells[0] += f", {r['n_categorical']} columns with categories"
        if r.get("validated", False):
            cells[0] += ", validation data measured after each"
        for of in libraries:
            if of not in of_library:
                cells.append("-")
                continue
            cells.append(f"{spread(of_library[of])}, {quality[of]:.3f}")
        fastest = min(s for of, s in seconds.items() if of != OURS)
        rows.append([*cells, f"{fastest / seconds[OURS]:.2f}"])
    head = ["queries x documents x features", *map(name, libraries), "times as fast"]
    return markdown(head, rows)


def sparse_tables() -> str:
    """Seconds, memory and NDCG@10 of fits to sparse tables, times ours."""
    rows = []
    for of_table in grouped(records("sparse_tables"), "table").values():
        runs = grouped(of_table, "library")
        ours, r = runs[OURS], of_table[0]
        data = f"{r['table']}: {r['n_rows']:,} x {r['n_columns']:,}"
        share = r["n_nonzeros"] / r["n_rows"]
        about = f"{data}, {share:.0f} values a row, {r['n_estimators']} trees"
        for library, results in runs.items():
            times = ratio(middle(results, "seconds"), middle(ours, "seconds"))
            peak, quality = (middle(results, f) for f in ("peak_mb", "ndcg@10"))
            cells = spread(results), times, f"{peak:.0f}", f"{quality:.3f}"
            rows.append([about, name(library), *cells])
    head = ["data", "", "seconds", "times ours", "peak MB", "NDCG@10"]
    return markdown(head, rows, once=1)


def scaling() -> str:
    """Seconds of a fit on more and more cores, computed; and those of the clock."""
    runs = grouped(records("scaling"), "what", "n_threads")
    others = dict.fromkeys(what for what, _ in runs if not what.startswith(OURS))
    counts = sorted({n for what, n in runs if what == COUNTED})
    rows = []
    for n in counts:
        cells = [f"{n}"]
        for sums in reversed(SUMS):
            seconds = (seconds_of(r, r["prices"], sums) for r in runs[COUNTED, n])
            cells.append(f"{median(seconds):.2f}")
        cells.append(f"{middle(runs[OURS, n], 'seconds'):.2f}" if n <= 2 else "")
        for peer in others:
            one, two = (middle(runs[peer, k], "seconds") for k in (1, 2))
            cells.append(f"{extrapolated(one, two, n):.2f}")
        rows.append(cells)
    ours = [f"{name(OURS)}, {sums}" for sums in reversed(SUMS)]
    head = ["threads", *ours, "the clock", *(f"{of}, s + p / n" for of in others)]
    return markdown(head, rows)


def beside_others() -> str:
    """Seconds of a fit beside busy processes, by one thread and by two."""
    fits = [r for r in records("beside_others") if "seconds" in r]
    runs = grouped(fits, "library", "busy", "n_threads")
    busy = sorted({n for _, n, _ in runs})
    rows = []
    for library in dict.fromkeys(library for library, *_ in runs):
        cells = [name(library)]
        for n in busy:
            if (library, n, 2) not in runs:
                cells.append("")
                continue
            two, one = (middle(runs[library, n, k], "seconds") for k in (2, 1))
            cells.append(f"{two:.2f} / {one:.2f} ({ratio(two, one)} x)")
        rows.append(cells)
    words = ["nothing else", "one busy process", "two busy processes"]
    return markdown(["", *(words[n] for n in busy)], rows)


def beside_others_pairs() -> str:
    """How many times as long two threads take as one, in turns."""
    rows = []
    for r in records("beside_others"):
        if "two / one" in r:
            low, middle_one, high = np.percentile(r["two / one"], [25, 50, 75])
            words = f"{middle_one:.2f} ({low:.2f} to {high:.2f})"
            rows.append([f"{r['busy']}", words, f"{len(r['two / one'])}"])
    head = ["busy processes", "two threads / one: median (quartiles)", "pairs"]
    return markdown(head, rows)


def beside_others_latency() -> str:
    """Microseconds of predictions beside busy processes: median and 99th percentile."""
    rows = [r for r in records("beside_others") if "microseconds" in r]
    cells = {
        (r["n_rows"], r["library"], r["busy"]): (
            f"{r['microseconds']:.0f}, {r['99th percentile']:.0f}"
        )
        for r in rows
    }
    kinds = dict.fromkeys(key[:2] for key in cells)
    table = [
        [f"{n_rows}", name(library), *(cells[n_rows, library, k] for k in range(3))]
        for n_rows, library in kinds
    ]
    busy = ["nothing else", "one busy process", "two busy processes"]
    return markdown(["rows", "", *busy], table, once=1)


def second_thread() -> str:
    """Milliseconds of a tree and seconds of a fit, by one thread and by two."""
    rows = []
    for r in records("second_thread"):
        cells = [r["shape"].replace("x", " x ")]
        for one, two, digits in (("1", "2", 1), ("fit 1", "fit 2", 2)):
            pairs = np.array([r[one], r[two]])
            cells += [f"{seconds:.{digits}f}" for seconds in np.median(pairs, axis=1)]
            cells.append(f"{np.median(pairs[0] / pairs[1]):.2f}")
        rows.append(cells)
    parts = [f"{what}{n}" for what in ("ms a tree, ", "s a fit, ") for n in (1, 2)]
    head = ["rows x columns", *parts[:2], "times", *parts[2:], "times"]
    return markdown(head, rows)


def explain() -> str:
    """Milliseconds of SHAP values of 100 trees of 31 leaves."""
    columns = [(10_000, 2), (10_000, 1), (100, 1)]
    runs = {
        (r["library"], r["rows"], r["threads"]): 1000 * median(r["seconds"])
        for r in records("explain", preset="31", background=None)
    }
    rows = []
    for library in dict.fromkeys(key[0] for key in runs):
        cells = [name(library)]
        for column in columns:
            value, ours = runs[library, *column], runs[OURS, *column]
            cells.append(f"{value:,.3g}" if value < 100 else f"{value:,.0f}")
            cells[-1] += "" if library == OURS else f" ({ratio(value, ours)} x)"
        rows.append(cells)
    threads = {1: "one thread", 2: "two threads"}
    return markdown(["", *(f"{r:,} rows, {threads[t]}" for r, t in columns)], rows)


def predict() -> str:
    """Milliseconds of scores, each beside ours in the same run."""
    rows = []
    for preset, trees in (
        ("31", "100 trees of 31 leaves"),
        ("63", "1,000 trees of 63 leaves"),
        ("255", "500 trees of 255 leaves"),
    ):
        for n_rows, threads in ((1_000_000, 2), (100, 1)):
            runs = [
                r
                for r in records("predict", preset=preset, rows=n_rows, threads=threads)
                if "earlier version" not in r.get("note", "")
            ]
            ours = {run_of(r): r for r in runs if r["library"] == OURS}
            for r in runs:
                beside, value = milliseconds(ours[run_of(r)]), milliseconds(r)
                rows.append(
                    [
                        trees,
                        f"{n_rows:,}, {threads} thread{'s'[: threads - 1]}",
                        r.get("note", ""),
                        name(r["library"]),
                        f"{value:.3f}" if value < 10 else f"{value:,.0f}",
                        ratio(value, beside),
                    ]
                )
    head = ["trees", "rows", "remark", "", "milliseconds", "times ours"]
    return markdown(head, rows, once=3)


def run_of(r: Record) -> tuple[str, str]:
    """Return what the results of one run have in common."""
    return r.get("command", r["machine"]), r["date"]


def startup() -> str:
    """Seconds of what a process fits first, from a wheel and from a clone."""
    found = [r for r in records("startup") if "fit_s" in r]  # no imports
    seconds = {(r["what"], r["place"], r["cores"]): r["fit_s"] for r in found}
    places = list(dict.fromkeys((r["place"], r["cores"]) for r in found if r["place"]))
    rows = []
    for what in dict.fromkeys(r["what"] for r in found):
        by_place = [seconds.get((what, *place)) for place in places]
        if what == "LightGBM":  # the same from anywhere
            by_place = [next(r["fit_s"] for r in found if r["what"] == what)]
            by_place += [None] * (len(places) - 1)
        rows.append([what, *("" if s is None else f"{s:.2f}" for s in by_place)])
    head = [f"{place}, {'one core' if n == 1 else f'{n} cores'}" for place, n in places]
    return markdown(["", *head], rows)


def levels() -> str:
    """Times of machine code for levels of CPUs, those of the native code being 1."""
    found = {(r["what"], r["cpus"][1]): r for r in records("two_versions")}
    names = list(dict.fromkeys(level for _, level in found))
    rows = []
    for what in dict.fromkeys(what for what, _ in found):
        ratios = []
        for level in names:
            native, other = np.array(found[what, level]["seconds"]).T
            ratios.append(f"{np.median(other / native):.2f}")
        rows.append([WORK[what], *ratios])
    return markdown(["", *names], rows)


def home() -> str:
    """Three cards with figures beside LightGBM's, of two threads."""
    fits = last_fits("a")
    (our_fit, our_ndcg), (their_fit, their_ndcg) = (
        [middle(fits[library], field) for field in ("seconds", "ndcg@10")]
        for library in (OURS, "LightGBM")
    )
    with_all_rows = ""
    if ALL_ROWS in fits:
        seconds = middle(fits[ALL_ROWS], "seconds")
        with_all_rows = f" All rows for each tree, `subsample=1`: {seconds:.1f}\u00a0s."
    scored = records("predict", preset="31", rows=1_000_000, threads=2)
    our_scores, their_scores = (
        next(milliseconds(r) for r in scored if r["library"] == library)
        for library in (OURS, "LightGBM")
    )
    values = per_query()
    ours, theirs = (
        np.concatenate([values[library, data] for data in DATA])
        for library in (OURS, "LightGBM")
    )
    figures = [
        (
            f"{ratio(their_fit, our_fit)} times as fast to train",
            f"100 trees on 243,480 rows: {our_fit:.1f}\u00a0s, "
            f"LightGBM {their_fit:.1f}\u00a0s. "
            f"NDCG@10: {our_ndcg:.3f} and {their_ndcg:.3f}.{with_all_rows}",
        ),
        (
            f"{ratio(their_scores, our_scores)} times as fast to score",
            f"1,000,000 rows with 100 trees: {our_scores / 1000:.2f}\u00a0s, "
            f"LightGBM {their_scores / 1000:.2f}\u00a0s.",
        ),
        (
            f"{(ours - theirs).mean():+.4f} NDCG@10",
            f"{len(ours):,} queries of three collections: {ours.mean():.4f}, LightGBM "
            f"{theirs.mean():.4f}. The standard error is {sem(ours - theirs):.4f}.",
        ),
    ]
    cards = [f":::{{grid-item-card}} {head}\n{text}\n:::" for head, text in figures]
    return "\n".join(["::::{grid} 1 1 3 3", ":gutter: 2", "", *cards, "::::"])


DATA = {  # their titles
    "mq2008.npz": "MQ2008",
    "ohsumed_letor2.npz": "OHSUMED",
    "websearch.npz": "web search",
}
N_QUERIES = {"mq2008.npz": 784, "ohsumed_letor2.npz": 106, "websearch.npz": 2000}
UNSEEN = "lightgbm_lambdarank.npz"
COLLECTIONS = DATA | {
    UNSEEN: "LightGBM's example",
    "mslr_mini.npz": "MSLR-WEB, raw columns",
    "cranfield.npz": "Cranfield, text columns",
}
RANKERS = {
    OURS: "**LambdaMARTRanker**",
    f"{OURS} bagged": "**BaggingRanker**, five of them",
    f"{OURS} blended": "**BlendedRanker**, these five and a network",
    "CatBoost symmetric": "CatBoost YetiRank, symmetric trees",
    "XGBoost hist": "XGBoost",
    "LightGBM": "LightGBM",
}


def per_query(comparison: str = "means") -> dict[tuple[str, str], np.ndarray]:
    """Return NDCG@10 of each query, the mean over seeds, by library and collection."""
    found = [r for r in records("quality") if "settings" in r]
    return {
        key: np.mean([r[f"{comparison} ndcg@10"] for r in runs], axis=0)
        for key, runs in grouped(found, "library", "data").items()
    }


def quality() -> str:
    """NDCG@10, the mean over settings, with paired standard errors of differences."""
    values = per_query()
    seconds = {
        library: mean(
            r["seconds"]
            for r in records("quality", library=library, data="websearch.npz")
            if "settings" in r
        )
        for library in RANKERS
        if (library, "websearch.npz") in values
    }
    rows = []
    for library, title in RANKERS.items():
        if (library, next(iter(DATA))) not in values:
            continue
        cells = [title]
        for data in DATA:
            scores = values.get((library, data))
            if scores is None:
                cells.append("")
                continue
            # values of single queries are stored rounded, the mean over all is not
            means = [
                r["means"]["NDCG@10"]
                for r in records("quality", library=library, data=data)
                if "settings" in r
            ]
            cells.append(f"{mean(means) * N_QUERIES[data] / len(scores):.4f}")
            if library != OURS:
                cells[-1] += f" ({sem(scores - values[OURS, data]):.4f})"
        rows.append([*cells, f"{seconds[library]:.0f}"])
    titles = [
        f"{title}, {len(values[OURS, data]):,} queries" for data, title in DATA.items()
    ]
    return markdown(["", *titles, "CPU seconds"], rows)


def unseen() -> str:
    """NDCG@10 on a collection that no default was chosen on, and differences."""
    values = {lib: v for (lib, data), v in per_query().items() if data == UNSEEN}
    rows = []
    for library, title in RANKERS.items():
        seconds = mean(
            r["seconds"] for r in records("quality", library=library, data=UNSEEN)
        )
        cell = ""
        if library != "CatBoost symmetric":
            cell = minus(values[library], values["CatBoost symmetric"])
        rows.append([title, f"{values[library].mean():.4f}", cell, f"{seconds:.0f}"])
    return markdown(["", "NDCG@10", "minus CatBoost", "CPU seconds"], rows)


def differences() -> str:
    """Differences over the queries of all collections that both were run on."""
    rows = []
    for comparison, title in (
        ("means", "mean over all settings"),
        ("chosen", "the setting chosen on validation queries"),
    ):
        values = per_query(comparison)
        measured = [r for r in RANKERS if (r, next(iter(DATA))) in values]
        for ours in [r for r in measured if r.startswith(OURS)]:
            for theirs in [r for r in measured if not r.startswith(OURS)]:
                both = [d for d in DATA if (ours, d) in values]
                of_ours, of_theirs = (
                    np.concatenate([values[library, d] for d in both])
                    for library in (ours, theirs)
                )
                names = RANKERS[ours].split("**")[1], RANKERS[theirs].split(",")[0]
                rows.append([title, *names, minus(of_ours, of_theirs)])
    return markdown(["", "ours", "minus", "NDCG@10"], rows, once=2)


CATEGORIES = {  # of categories.py, and what its names mean
    "python_names": "names of Python functions",
    "made": "made, without an effect of pairs",
    OURS: "**the columns alone**",
    f"{OURS}, CategoryPairs": "**after `CategoryPairs`**",
    f"{OURS}, all pairs": "**and all pairs**",
    "LightGBM": "LightGBM, the columns alone",
    "CatBoost symmetric": "CatBoost, which adds combinations itself",
    "LightGBM, all pairs": "LightGBM, and all pairs",
}


def minus_first(r: Record, digits: int = 4) -> str:
    """Return the stored difference from the first of a comparison, if there is one."""
    if "error" not in r:
        return ""
    return with_error(r["difference"], r["error"], digits)


def categories() -> str:
    """NDCG@10 with and without combinations of categories as further columns."""
    rows = []
    for r in records("categories"):
        cells = [CATEGORIES[r["data"]], CATEGORIES[r["library"]]]
        cells += [f"{max(r['pairs'])}" if "pairs" in r else "", f"{r['queries']:,}"]
        rows.append([*cells, f"{r['ndcg@10']:.4f}", minus_first(r)])
    return markdown(
        ["data", "given", "pairs", "queries", "NDCG@10", "minus alone"], rows
    )


CLUSTER_DATA = {"a": "243,480 x 136", "narrow": "143,336 x 50"}


def tuning() -> str:
    """NDCG@10 after a time of training, and when it is that of the best peer."""
    libraries = over_folds(records("tuning"))
    peer = best_peer(libraries)
    goal = highest(peer)
    rows = []
    for r in libraries:
        reached = first_time(r, goal)
        rows.append(
            [
                name(r["library"]),
                *(f"{value:.4f}" if value else "" for value in r["ndcg@10"][::4]),
                f"{r['search_seconds']:,.0f}",
                "never" if reached is None else f"{reached:,.0f} s",
            ]
        )
    times = [f"{seconds:,.0f} s" for seconds in peer["seconds"][::4]]
    head = ["", *times, "seconds of all settings", f"reaches {goal:.4f}"]
    return markdown(head, rows)


# Before, trees were best-first with any number of queries
SYMMETRIC_SINCE = "2026-11-26"


def learning_curves() -> str:
    """NDCG@10 of the defaults with best-first trees, and with other settings."""
    found = [r for r in best_first() if "=" in r["library"] or r["library"] == OURS]
    return curves(found)


def learning_curves_libraries() -> str:
    """NDCG@10 of the defaults with best-first trees, and of other models."""
    return curves([r for r in best_first() if "=" not in r["library"]])


def best_first() -> list[Record]:
    """Return the learning curves of best-first trees."""
    return [r for r in records("learning_curves") if r["date"] < SYMMETRIC_SINCE]


def few_queries() -> str:
    """NDCG@10 of the defaults, and of others minus that, by number of queries."""
    found = records("learning_curves")
    found = [r for r in found if r["date"] >= SYMMETRIC_SINCE]
    # the same where "auto" chooses it
    same = 'grow_policy="symmetric"'
    found = [r for r in found if r["library"] != same or any(r["difference"])]
    return curves(found, "defaults")


def curves(found: list[Record], own: str = "best-first") -> str:
    """Return NDCG@10 of our own ranker, and of others minus that."""
    others = list(dict.fromkeys(r["library"] for r in found if r["library"] != OURS))
    found = [r | {"trees": range_of(r.get("trees", [25, 400]))} for r in found]
    of_size = grouped(found, "data", "n_queries", "trees")
    rows, collections = [], [data for data, _, _ in of_size]
    for data, n_queries, trees in sorted(
        of_size, key=lambda k: collections.index(k[0])
    ):
        of_library = {r["library"]: r for r in of_size[data, n_queries, trees]}
        ours = of_library[OURS]
        rows.append(
            [
                Path(data).stem,
                f"{n_queries:,}",
                f"{ours['n_documents']:,.0f}",
                trees,
                f"{mean(ours['ndcg@10']):.4f}",
                *(
                    with_error(r["difference"][-1], r["error"][-1])
                    if (r := of_library.get(other))
                    else ""
                    for other in others
                ),
            ]
        )
    names = [f"`{other}`" if "=" in other else name(other) for other in others]
    about = "data", "queries", "documents", "trees", own
    return markdown([*about, *names], rows, once=1)


def range_of(stops: list[int]) -> str:
    return " to ".join(f"{n:,}" for n in sorted({min(stops), max(stops)}))


def smallest_leaf() -> str:
    """NDCG@10 of models of few queries, by `min_samples_leaf`, minus that of 20."""
    found = records("smallest_leaf")
    of_size = grouped(found, "data", "estimator", "n_queries")
    rows = [
        [
            Path(data).stem,
            f"`{estimator}`",
            f"{n_queries:,}",
            f"{default['n_documents']:,.0f}",
            f"{default['ndcg@10']:.3f}",
            *(minus_first(r, 3) for r in others),
        ]
        for (data, estimator, n_queries), (default, *others) in of_size.items()
        if n_queries <= 5  # with more, a fifth of the rows is 20 or more
    ]
    rules = [r["rule"] for r in next(iter(of_size.values()))]
    about = "data", "estimator", "queries", "documents"
    return markdown([*about, *rules], rows, once=2)


def dask_fit() -> str:
    """Fits by the workers of a cluster on two cores, rows in memory and in files."""
    rows = []
    for r in records("dask_fit"):
        counted = r["library"] == OURS
        alone = r["library"] == "one process"
        moved = r["workers"] > 1 and not alone
        rows.append(
            [
                CLUSTER_DATA[r.get("preset", "a")],
                "Parquet" if r.get("parquet") else "memory",
                str(r["workers"]),
                "**without Dask**" if alone else name(r["library"]),
                f"{r['seconds']:.1f}",
                f"{r['bytes_per_tree'] / 1e6:.1f}" if moved else "",
                f"{r['sum_bytes_per_tree'] / 1e6:.1f}" if counted else "",
                "" if alone else f"{r['peak_mb']:.0f}",
                f"{r['ndcg']:.3f}",
            ]
        )
    about = "rows", "in", "workers", "", "seconds"
    bytes_moved = "MB between processes per tree", "MB of sums of a worker"
    return markdown([*about, *bytes_moved, "peak MB of a worker", "NDCG@10"], rows)


def spark_and_ray() -> str:
    """Fits by tasks of Spark and actors of Ray on two cores."""
    rows = [
        [
            f"{r['rows']:,} x 136",
            r["engine"].title(),
            str(r["workers"]),
            "**one process**" if r["library"] == "one process" else name(r["library"]),
            f"{r['one_tree']:.1f}",
            f"{r['seconds']:.1f}",
            f"{r['ms_per_tree']:.0f}",
            f"{r['ndcg']:.3f}",
        ]
        for r in records("spark_and_ray")
    ]
    about = "rows", "", "workers", ""
    seconds = "a fit of one tree, seconds", "of 100 trees, seconds", "ms per tree"
    return markdown([*about, *seconds, "NDCG@10"], rows)


def larger_than_memory() -> str:
    """Tables on disk, fitted and scored partition by partition."""
    rows = [
        [
            f"{r['rows'] / 1e6:.1f} million x 136, {r['table_gb']:.1f} GB",
            FILES[r["format"]],
            f"{r['workers']} x {r['threads']}",
            f"{r['fit_s']:,.0f}",
            f"{r['fit_peak_gb']:.1f}",
            f"{r['fit_bytes_per_row']:.0f}",
            f"{r['predict_s']:,.0f}",
            f"{r['predict_peak_gb']:.1f}",
        ]
        for r in records("larger_than_memory")
    ]
    fitted = "fit, seconds", "highest memory, GB", "bytes per row"
    scored = "predict, seconds", "highest memory, GB"
    return markdown(["table", "in", "workers x threads", *fitted, *scored], rows)


def cluster_growth() -> str:
    """Seconds per tree of 31 leaves on larger clusters, computed from measurements."""
    parts = "compute", "wire", "messages", "lightgbm_network", "xgboost_network"
    found = list(records("cluster_growth"))
    rows = [
        [
            f"{r['workers']:,}",
            *(f"{r[part]:.2g}" for part in parts),
            f"{r['gb_per_worker']:.3g}",
        ]
        for r in found
    ]
    networks = "LightGBM's network", "XGBoost's network"
    head = ["workers", "compute", "wire", "messages", *networks, "GB per worker"]
    measured = (
        f"Measured: {found[0]['row'] * 1e9:.0f} ns of a core per row and tree, "
        f"{found[0]['exchange_8_bytes'] * 1e6:.0f} microseconds for an exchange of 8 "
        f"bytes, and {found[0]['exchange_1_mb'] * 1e6:,.0f} for one of 1 MB, between "
        "two processes of one machine."
    )
    counted = markdown(
        [
            "workers",
            "exchanges of a tree",
            "MB of sums that a worker sends and receives",
        ],
        [
            [str(c["workers"]), f"{c['exchanges']:.1f}", f"{c['bytes'] / 1e6:.1f}"]
            for c in found[0]["counted"]
        ],
    )
    return f"Counted:\n\n{counted}\n\n{measured}\n\n{markdown(head, rows)}"


FILES = {"map": "memory maps", "parquet": "Parquet"}
NAIVE_OF = {  # the same library without a correction
    "additive": "naive",
    "additive, all defaults": "naive, all defaults",
    "pairwise": "naive",
    "true propensities": "naive",
    "estimated propensities": "naive",
    "XGBoost lambdarank_unbiased": "XGBoost naive",
    "LightGBM position": "LightGBM naive",
}
ClickSetting = tuple[str, int, str]  # data, sessions, users


def clicks_by_seed() -> dict[ClickSetting, dict[str, dict[int, float]]]:
    """Return NDCG@10 by setting, method and seed.

    Of seeds with all methods that any seed of the setting has.
    """
    found = records("clicks_protocol", strength=1.0)
    by_seed: dict[ClickSetting, dict[str, dict[int, float]]] = {}
    for setting, runs in sorted(grouped(found, "data", "sessions", "users").items()):
        seeds = {
            seed: {r["method"]: r["ndcg"] for r in of_seed}
            for seed, of_seed in grouped(runs, "seed").items()
        }
        methods = {r["method"] for r in runs}
        finished = {s: of for s, of in seeds.items() if methods == of.keys()}
        by_seed[setting] = {m: {s: finished[s][m] for s in finished} for m in methods}
    return by_seed


def difference(of: dict[str, dict[int, float]], method: str, other_method: str) -> str:
    """Return a mean difference and its standard error, bold if beyond chance."""
    if method not in of or other_method not in of:
        return ""
    one, other = of[method], of[other_method]
    values = np.array([one[seed] - other[seed] for seed in one])
    if len(values) == 1:
        return f"{values[0]:+.3f}"
    return marked(*paired(values, 0), limit=t.ppf(0.975, len(values) - 1), digits=3)


def marked(value: float, error: float, limit: float = 1.96, digits: int = 4) -> str:
    """Return a difference and its standard error, bold if beyond chance."""
    text = with_error(value, error, digits)
    return f"**{text}**" if abs(value) > limit * error else text


def setting_cells(setting: ClickSetting, n_seeds: int) -> list[str]:
    data, sessions, users = setting
    return [data, f"{sessions:,}", users, str(n_seeds)]


def clicks_corrections() -> str:
    """Each correction minus naive clicks, of the same library."""
    rows = []
    for setting, of in clicks_by_seed().items():
        naive = of["naive"]
        cells = setting_cells(setting, len(naive))
        cells.append(f"{mean(naive.values()):.3f}")
        cells += [difference(of, m, other) for m, other in NAIVE_OF.items()]
        rows.append(cells)
    head = ["data", "sessions", "users", "seeds", "naive", *NAIVE_OF]
    return markdown(head, rows, once=2)


def clicks_peers() -> str:
    """Our corrections, minus the better one of the peers'."""
    rows = []
    for setting, of in clicks_by_seed().items():
        theirs = [m for m in list(NAIVE_OF)[-2:] if m in of]
        if not theirs:
            continue
        best = max(theirs, key=lambda m, of=of: mean(of[m].values()))
        ours = list(NAIVE_OF)[:-2]
        rows.append(
            [
                *setting_cells(setting, len(of[best])),
                f"{best} {mean(of[best].values()):.3f}",
                *(difference(of, m, best) for m in ours),
            ]
        )
    head = ["data", "sessions", "users", "seeds", "better peer", *list(NAIVE_OF)[:-2]]
    return markdown(head, rows, once=2)


def clicks_judges() -> str:
    """Each correction minus naive clicks, by what judges."""
    rows = []
    for setting, runs in grouped(records("clicks_judges"), "data", "judge").items():
        of = {
            method: {r["seed"]: r["value"] for r in of_method}
            for method, of_method in grouped(runs, "method").items()
        }
        data, judge = setting
        naive, *corrections = of
        rows.append([DATA[f"{data}.npz"], judge, f"{mean(of[naive].values()):.3f}"])
        rows[-1] += [difference(of, method, naive) for method in corrections]
    return markdown(["collection", "judged by", *of], rows, once=1)


def real_logs() -> str:
    """Held-out NDCG@10 of rankers by the right split and by the naive one."""
    rows = []
    for log, runs in grouped(records("real_logs"), "log").items():
        compared = [r for r in runs if "split" in r]
        for split, seeds in grouped(compared, "split").items():
            name, *_ = seeds[0]["means"]
            means = [list(r["means"].values()) for r in seeds]
            baseline, *rankers = np.mean(means, axis=0)
            cells = [log, split, f"{seeds[0]['n_queries']:,}"]
            cells.append(f"{name} {baseline:.4f}")
            cells += [f"{value:.4f}" for value in rankers]
            cells += [over_seeds(r["pairs"][k] for r in seeds) for k in (1, 2)]
            rows.append(cells)
        gains = [r["optimism"] for r in runs if "optimism" in r]
        cells = [over_seeds(gain[ranker] for gain in gains) for ranker in gains[0]]
        rows.append([log, "by query minus right", "", *cells, "", ""])
    head = ["log", "split", "queries", "baseline", "LightGBM", "LambdaMARTRanker"]
    head += ["ours - baseline", "ours - LightGBM"]
    return markdown(head, rows, once=1)


def over_seeds(pairs: Iterable[Record]) -> str:
    """Return the mean difference of seeds, and their mean standard error."""
    found = [(pair["mean_difference"], pair["standard_error"]) for pair in pairs]
    return marked(*np.mean(found, axis=0))


def propensities() -> str:
    """Relative errors of estimated propensities, and their standard errors."""
    cells: dict[tuple[float, int], dict[str, str]] = {}
    for r in records("propensities"):
        error, promised = (
            f"{r[k]:.1%}" if r[k] < 0.1 else f"{r[k]:.0%}"
            for k in ("relative_error", "standard_error")
        )
        of_setting = cells.setdefault((r["eta"], r["n_sessions"]), {})
        useless = r["relative_error"] > 10
        of_setting[r["estimator"]] = "useless" if useless else f"{error} ({promised})"
    estimators = list(next(iter(cells.values())))
    rows = [
        [f"{eta:g}", f"{n_sessions:,}", *map(of.get, estimators)]
        for (eta, n_sessions), of in cells.items()
    ]
    head = ["strength", "sessions", *(f"`{name}`" for name in estimators)]
    return markdown(head, rows, once=1)


CALIBRATED = {  # ranker: its name in tables
    "pointwise": "pointwise: MARTRegressor, MARTClassifier",
    "MARTRegressor": "MARTRegressor",
    "no regression": "LambdaMARTRanker(regression_weight=0)",
    "LambdaMARTRanker": "LambdaMARTRanker",
    "on MARTRegressor": "LambdaMARTRanker(init=MARTRegressor())",
}


def calibrated(key: Record) -> list[str]:
    """Return the cells of a ranker and a method."""
    method = "" if key["method"] == "none" else f'`"{key["method"]}"`'
    return [CALIBRATED[key["ranker"]], method]


def calibration() -> str:
    """Errors of predicted grades and probabilities, minus those of pointwise models."""
    rows = []
    for data, collection in DATA.items():
        for ranker in CALIBRATED:
            for r in records("calibration", data=data, ranker=ranker):
                cells = [collection, *calibrated(r)]
                for measure in CALIBRATION_ERRORS:
                    value, *difference = r[measure]
                    cells.append(f"{value:.4f}")
                    if ranker != "pointwise":
                        cells[-1] += f", {with_error(*difference)}"
                rows.append([*cells, f"{r['ndcg@10'][0]:.4f}"])
    return markdown(
        ["data", "model", "method", *CALIBRATION_ERRORS.values(), "NDCG@10"], rows
    )


CALIBRATION_ERRORS = {
    "grade": "grade, squared error",
    "grade bins": "grade, in bins of documents",
    "grade queries": "grade, in bins of queries",
    "relevant": "relevance, squared error",
    "relevant bins": "relevance, in bins of documents",
}


def calibration_short() -> str:
    """What the guide shows: calibration errors, and squared errors minus pointwise."""
    rows = []
    for ranker in CALIBRATED:
        of_methods: dict[str, list[str]] = {}
        for data in DATA:
            for r in records("calibration", data=data, ranker=ranker):
                value, *difference = r["grade"]
                squared = with_error(*difference, digits=3)
                squared = f"{value:.3f}" if ranker == "pointwise" else squared
                cells = of_methods.setdefault(r["method"], calibrated(r))
                bins = (f"{r[f'grade {what}'][0]:.3f}" for what in ("bins", "queries"))
                cells += [" / ".join(bins), squared]
        rows += of_methods.values()
    head = [
        f"{name}: {error}"
        for name in DATA.values()
        for error in ("calibration error", "squared error")
    ]
    return markdown(["model", "method", *head], rows)


def budget() -> str:
    """NDCG@10 of searches, minus that of LambdaMARTRanker with its defaults."""
    rows: dict[str, list[str]] = {}
    head = ["model"]
    for data, collection in DATA.items():
        of_model = {r["model"]: r["ndcg@10"] for r in records("budget", data=data)}
        if not of_model:
            continue
        defaults = next(iter(of_model.values()))
        head.append(f"{collection}, {len(defaults):,} queries")
        for model, values in of_model.items():
            cell = f"{mean(values):.4f}"
            if values != defaults:
                cell += f", {minus(values, defaults)}"
            words = model if "(" in model else f"{model} candidates"
            rows.setdefault(model, [words]).append(cell)
    return markdown(head, rows.values())


def search_budget() -> str:
    """NDCG@10 of searches of the same seconds, and differences from ours."""
    every = records("search_budget")
    values = {
        key: [v for r in sorted(runs, key=itemgetter("fold")) for v in r["ndcg@10"]]
        for key, runs in grouped(every, "data", "library", "seconds").items()
    }
    budgets = sorted({r["seconds"] for r in every})
    rows = []
    for (data, library), runs in grouped(every, "data", "library").items():
        cells = []
        for seconds in budgets:
            found = values.get((data, library, seconds))
            cells.append("" if found is None else f"{mean(found):.4f}")
            if found is not None and library != OURS:
                cells[-1] += f", {minus(found, values[data, OURS, seconds])}"
        collection = COLLECTIONS.get(data, f"made, {runs[0]['rows']:,} rows")
        words = "**RankerSearch**" if library == OURS else library
        rows.append([collection, words, *cells])
    head = ["data", "search", *(f"{seconds:g} s" for seconds in budgets)]
    return markdown(head, rows, once=1)


def blends() -> str:
    """NDCG@10 of the blend and its parts on each collection, and differences."""
    collections = {r["data"]: None for r in records("blends")}
    rows = []
    for data in collections:
        of_model = {r["model"]: r for r in records("blends", data=data)}
        blend = of_model["BlendedRanker()"]["ndcg@10"]
        name = f"{COLLECTIONS[data]}, {len(blend):,} queries"
        for model, r in of_model.items():
            values, cell = r["ndcg@10"], ""
            if values != blend:
                cell = minus(values, blend)
            seconds = f"{r['seconds']:.1f}"
            rows.append([name, model, f"{mean(values):.4f}", cell, seconds])
    head = ["collection", "model", "NDCG@10", "minus BlendedRanker()", "CPU seconds"]
    return markdown(head, rows, once=1)


FUSION = "reciprocal rank fusion"


def hybrid() -> str:
    """NDCG@10 of ways to join two retrievers, minus reciprocal rank fusion."""
    of_way = {r["way"]: r["ndcg@10"] for r in records("hybrid", judged=None)}
    rows = [
        [way, f"{mean(values):.4f}", minus(values, of_way[FUSION], 3)]
        for way, values in of_way.items()
    ]
    return markdown(["", "NDCG@10", "minus fusion"], rows)


def hybrid_judged() -> str:
    """The same by the number of judged queries to learn from."""
    found = [r for r in records("hybrid") if r["judged"] is not None]
    by_count = grouped(found, "judged")
    ways = [r["way"] for r in next(iter(by_count.values())) if r["way"] != FUSION]
    rows = []
    for judged, runs in by_count.items():
        of_way = {r["way"]: r["ndcg@10"] for r in runs}
        cells = [minus(of_way[way], of_way[FUSION], 3) for way in ways]
        rows.append([str(judged), *cells])
    return markdown(["judged queries", *ways], rows)


def suspects() -> str:
    """Precision of the most doubtful grades, and NDCG@10 after judging them again."""
    rows = []
    for (data, noise), found in grouped(records("suspects"), "data", "noise").items():
        of = {r["what"]: r.get("ndcg@10", r.get("precision")) for r in found}
        cells = [COLLECTIONS[data], noise]
        for ranker in ("LambdaMARTRanker", "BlendedRanker"):
            cells.append(" / ".join(f"{p:.2f}" for p in of[f"precision, {ranker}"]))
        for what in ("clean", "at random", "doubtful, LambdaMARTRanker"):
            cells.append(minus(of[what], of["noisy"], 3))
        rows.append(cells)
    head = ["", "changed", "first 1% / 5%, LambdaMART", "the same, blend"]
    head += ["all judged again", "a tenth at random", "the most doubtful tenth"]
    return markdown(head, rows, once=1)


def coverage() -> str:
    """Share of intervals of 95% that hold the true difference of two rankers."""
    rows = []
    for r in records("coverage"):
        n = r["repetitions"]
        cells = [
            f"{100 * share:.1f}% ({100 * (share * (1 - share) / n) ** 0.5:.1f})"
            for share in (r["by_user"], r["by_query"])
        ]
        rows.append([f"{r['n_users']}", r["queries"], *cells])
    return markdown(["users", "queries of each", "`users` given", "not given"], rows)


def pairs() -> str:
    """NDCG@10 of judged pairs and of grades, by the hours of a judge."""
    by_ranker: dict[str, list[str]] = {}
    hours: dict[float, None] = {}
    for r in records("pairs", data="mq2008.npz"):
        cells = by_ranker.setdefault(r["ranker"], r["ranker"].split(", ", 1))
        hours[r["hours"]] = None
        cell = f"{r['ndcg@10']:.3f}"
        if r["difference"]:
            cell += f", {with_error(r['difference'], r['error_of'], 3)}"
        cells.append(cell)
    n_pairs = (round(3600 * of / r["seconds_pair"]) for of in hours)
    head = (f"{of:g} h, {n} judgements" for of, n in zip(hours, n_pairs, strict=True))
    return markdown(["ranker", "judged", *head], by_ranker.values(), 1)


WAYS_OF_LABELS = {
    "weights": "one model, `label_weights`",
    "blend": "blend of two models",
    "sum of grades": "one model of the sum of the grades",
}


def several_labels() -> str:
    """NDCG@10 of two labels by the share of the second, with standard errors."""
    rows, shares = [], []
    for r in records("several_labels"):
        cells = [r["data"], WAYS_OF_LABELS[r["way"]]]
        shares = r["shares"]
        for means, errors in zip(r["means"], r["errors"], strict=True):
            (a, b), (c, d) = means, errors
            cells.append(f"{a:.3f} ({c:.3f}) / {b:.3f} ({d:.3f})")
        rows.append(cells)
    return markdown(["data", "", *(f"{share:.0%}" for share in shares)], rows, 1)


def several_labels_short() -> str:
    """The fronts of two labels, and their differences from that of weights."""
    rows, found = [], records("several_labels")
    for way, runs in grouped(found, "way").items():
        rows.append([WAYS_OF_LABELS[way]])
        for r in runs:
            value, *difference = r["front"]
            rows[-1].append(f"{value:.3f}")
            if way != "weights":
                rows[-1][-1] += f", {with_error(*difference, digits=3)}"
    return markdown(["", *(f"front, {name}" for name in grouped(found, "data"))], rows)


def what_works_where() -> str:
    """What each library can do, by the last run."""
    cells: dict[str, dict[str, str]] = {}
    for r in records("what_works_where"):
        cells.setdefault(r["feature"], {})[r["library"]] = r["cell"]
    libraries = list(dict.fromkeys(of for row in cells.values() for of in row))
    rows = [[feature, *map(row.get, libraries)] for feature, row in cells.items()]
    versions = r["machine"].partition("cores, ")[2]
    return (
        f"{markdown(['', *libraries], rows)}\n\nTried on {r['date']} with {versions}."
    )


def with_tables(page: str) -> str:
    """Return the page with the tables made anew."""
    return TABLE.sub(
        lambda found: f"<!-- table {found[1]} -->\n{table(found[1])}\n<!-- end -->",
        page,
    )


def table(name: str) -> str:
    return globals()[name]()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="into the pages")
    write = parser.parse_args().write
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        if write:
            page.write_text(with_tables(text), encoding="utf-8")
            continue
        for name in TABLE.findall(text):
            print(f"{name}: {globals()[name].__doc__}\n\n{table(name)}\n")


if __name__ == "__main__":
    main()
