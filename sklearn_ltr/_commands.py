"""Commands on files: train a ranker, rank documents, evaluate, convert models.

Data are files of LETOR (``grade qid:query 1:value 2:value ... # docid = name``), lists
are runs and judgements of TREC.  A model is a file of this package, JSON (``.json``) or
a pickle (``.pkl``), or of another library.
"""

from __future__ import annotations

import argparse
import ast
import pickle
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from functools import cache, partial
from inspect import signature
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Bunch

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker, export
from sklearn_ltr._typing import IntArray
from sklearn_ltr.datasets import dump_run, join_run, load_letor, load_qrels, load_run
from sklearn_ltr.datasets._trec import JoinedRun
from sklearn_ltr.mart import MARTRegressor
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
Rows: TypeAlias = Mapping[str, NDArray[Any]]  # arguments of metrics, by name
RowsOf: TypeAlias = Callable[[Metric | None], Rows]

RANKERS: dict[str, type[BaseEstimator]] = {
    "lambdamart": LambdaMARTRanker,
    "lambdarank": LambdaRankRanker,
    "ranknet": RankNetRanker,
    "mart": MARTRegressor,
}
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
WRITERS: dict[str, Callable[..., str | bytes]] = {
    "json": export.to_json,
    "pickle": pickle.dumps,
    "lightgbm": export.to_lightgbm,
    "xgboost": export.to_xgboost,
    "xgboost-dump": export.to_xgboost_dump,
    "onnx": lambda model: export.to_onnx(model).SerializeToString(),
    "ranklib": export.to_ranklib,
    "vespa": export.to_vespa,
}
READERS: dict[str, Callable[[bytes], BaseEstimator]] = {
    "json": export.from_json,
    "pickle": pickle.loads,
    "lightgbm": export.from_lightgbm,
    "xgboost": export.from_xgboost,
    "catboost": export.from_catboost,
    "ranklib": export.from_ranklib,
}
MISSING = ("branch", "zero")  # what writers of some formats take
A_MODEL = "a model: .json, or .pkl (which is executed: only what you trust)"


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the commands, with their arguments, to the parser."""
    train = commands.add_parser(
        "train",
        help="train a ranker on a LETOR file",
        epilog="example: python -m sklearn_ltr train train.txt --valid vali.txt "
        "--model model.json --set n_estimators=500 learning_rate=0.05",
    )
    train.add_argument("data", help="LETOR file, plain, .gz or .bz2")
    train.add_argument("--model", required=True, help="file to write: .json or .pkl")
    train.add_argument("--valid", help="LETOR file for early stopping")
    train.add_argument("--ranker", choices=RANKERS, default="lambdamart")
    train.add_argument("--metric", help="metric to train for, such as ndcg@10")
    train.add_argument("--seed", type=int, default=0, help="random_state, 0 by default")
    train.add_argument("--quiet", action="store_true", help="print no progress")
    train.add_argument(
        "--set",
        nargs="+",
        default=[],
        metavar="NAME=VALUE",
        help="parameters of the ranker, by their names in Python",
    )
    train.set_defaults(run=run_train)

    rank = commands.add_parser(
        "rank",
        help="write the ranked lists of a LETOR file, a TREC run",
        epilog="Documents are named as '# docid = name' says, or by their line.",
    )
    rank.add_argument("data", help="LETOR file")
    rank.add_argument("--model", required=True, help=A_MODEL)
    rank.add_argument("--run", required=True, help="TREC run to write", dest="to")
    rank.add_argument("--tag", default="sklearn_ltr", help="name of the run in it")
    rank.set_defaults(run=run_rank)

    evaluate = commands.add_parser(
        "evaluate",
        help="measure a model on a LETOR file, or a TREC run by judgements",
        epilog="Metrics are named as in Python, ndcg@10, map, err@20, ..., or as in "
        f"trec_eval, {', '.join([*MEASURES, *COUNTS])}, with cutoffs: ndcg_cut_10, "
        f"P.5,10; or as in ir_measures, {', '.join(IR_MEASURES)}: nDCG@10.  NDCG has "
        "exponential gains in the first, linear ones in the others.",
    )
    evaluate.add_argument("judged", help="LETOR file for a model, qrels for a run")
    source = evaluate.add_mutually_exclusive_group(required=True)
    source.add_argument("--model", help=A_MODEL)
    source.add_argument("--run", help="TREC run", dest="run_file")
    evaluate.add_argument(
        "-m",
        "--metric",
        nargs="+",
        action="extend",
        help="ndcg@10 by default; give files first, or '--' behind the names",
    )
    evaluate.add_argument(
        "-l",
        "--level",
        type=float,
        help="the lowest relevant grade, for metrics of relevant documents",
    )
    evaluate.add_argument(
        "-q", "--per-query", action="store_true", help="print each query's value, too"
    )
    evaluate.add_argument(
        "-c",
        "--complete",
        action="store_true",
        help="a judged query without a line in the run counts 0",
    )
    evaluate.set_defaults(run=run_evaluate)

    convert = commands.add_parser(
        "convert",
        help="write a model in the format of another program",
        epilog="Elasticsearch, OpenSearch and Solr need names of features in the "
        "engine: sklearn_ltr.export.to_elasticsearch_ltr and to_solr take them.",
    )
    convert.add_argument("model", help="file of the model")
    convert.add_argument("output", help="file to write")
    convert.add_argument(
        "--from", choices=READERS, dest="format", help="by default json"
    )
    convert.add_argument("--to", choices=WRITERS, required=True)
    convert.add_argument(
        "--missing",
        choices=MISSING,
        help="ranklib, xgboost: where missing values go, as in Python",
    )
    convert.set_defaults(run=run_convert)


def run_train(given: argparse.Namespace) -> None:
    """Train a ranker, print its progress, and write it."""
    kind = format_of(given.model)
    folder = Path(given.model).parent
    if not folder.is_dir():
        raise ValueError(f"{given.model}: there is no folder {str(folder)!r}")
    if kind == "json" and given.ranker in ("lambdarank", "ranknet"):
        raise ValueError(f"{given.model}: JSON holds trees; name a network *.pkl")
    parameters: dict[str, object] = {"random_state": given.seed}
    parameters["verbose"] = 0 if given.quiet else 1
    if given.metric is not None:
        parameters["metric"] = given.metric
    parameters.update(map(parameter, given.set))
    ranker = RANKERS[given.ranker](**parameters)
    files = [given.data] if given.valid is None else [given.data, given.valid]
    train, *valid = load_alike(files)
    is_regressor = given.ranker == "mart"
    arguments = {} if is_regressor else {"groups": train.groups}
    for held in valid:
        arguments |= {"X_val": held.data, "y_val": held.target}
        arguments |= {} if is_regressor else {"groups_val": held.groups}
    with warnings.catch_warnings(record=True) as caught:
        ranker.fit(train.data, train.target, **arguments)
    for message in dict.fromkeys(str(warning.message) for warning in caught):
        print(f"python -m sklearn_ltr train: warning: {message}", file=sys.stderr)
    write_file(given.model, WRITERS[kind](ranker))
    if not given.quiet:
        print(f"wrote {given.model}")


def run_rank(given: argparse.Namespace) -> None:
    """Write the run of a model on a LETOR file."""
    model = load_model(given.model)
    data = load_for(model, given.data)
    scores = model.predict(data.data)
    names = {"groups": data.groups, "documents": data.documents}
    dump_run(given.to, scores, **names, tag=given.tag)


def run_evaluate(given: argparse.Namespace) -> None:
    """Print the metrics of a model or a run, as trec_eval does."""
    measured: dict[str, Metric | None] = {}  # None: counts
    for name in given.metric or ["ndcg@10"]:
        measured |= metrics_of(name, given.model is None, given.level)
    rows_of = rows_of_model(given) if given.model is not None else rows_of_run(given)
    for name, metric in measured.items():
        rows = rows_of(metric)
        values: NDArray[Any]
        if metric is None:
            form, values = "d", count_documents(rows, name, given.level or 1.0)
            summary = values.sum()
        else:
            if given.model is None:
                metric = replace(metric, ties="stable")  # trec_eval's order
            form, values = ".4f", metric.per_query(**rows)
            if name == "gm_map":
                floored = np.maximum(values, LEAST_OF_GEOMETRIC_MEAN)
                summary = np.exp(np.log(floored).mean())
            else:
                summary = values.mean()
        if given.per_query:
            for label, value in zip(query_labels(rows), values, strict=True):
                print(f"{name:<22}\t{label}\t{value:{form}}")
        print(f"{name:<22}\tall\t{summary:{form}}")


def rows_of_model(given: argparse.Namespace) -> RowsOf:
    """Return the rows of a LETOR file, which are the same for all metrics."""
    model = load_model(given.model)
    data = load_for(model, given.judged)
    scores = model.predict(data.data)
    rows = {"y_true": data.target, "y_score": scores, "groups": data.groups}
    return lambda metric: rows


def rows_of_run(given: argparse.Namespace) -> RowsOf:
    """Return the rows of a run for a metric; bpref has those with a judgement."""
    run, qrels = load_run(given.run_file), load_qrels(given.judged)
    judged = set(zip(qrels.groups, qrels.documents, strict=True))
    has_judged = not judged.isdisjoint(zip(run.groups, run.documents, strict=True))

    @cache
    def join(unjudged: Literal["zero", "drop"]) -> JoinedRun:
        return join_run(
            run,
            qrels,
            topics="qrels" if given.complete else "both",
            unjudged=unjudged,
            negative="unjudged",  # as trec_eval
        )

    return lambda metric: join(
        "drop" if isinstance(metric, BPref) and has_judged else "zero"
    )


def judged_rows(rows: Rows, column: str, missing: str) -> NDArray[Any]:
    """Return a column of the rows, then of the judged documents that are missing."""
    if not len(rows.get(missing, [])):
        return rows[column]
    return np.concatenate([rows[column], rows[missing]])


def query_labels(rows: Rows) -> NDArray[Any]:
    """Return the label of each query, in the order of the metrics' values."""
    return np.unique(judged_rows(rows, "groups", "groups_missing"))


def count_documents(rows: Rows, name: str, level: float) -> IntArray:
    """Return the number of documents of each query that count."""
    labels, query = np.unique(
        judged_rows(rows, "groups", "groups_missing"), return_inverse=True
    )
    relevant = judged_rows(rows, "y_true", "y_missing") >= level
    retrieved = np.arange(len(query)) < len(rows["groups"])
    counted = COUNTS[name](relevant, retrieved)
    return np.bincount(query[counted], minlength=len(labels))


def run_convert(given: argparse.Namespace) -> None:
    """Write a model in another format."""
    model = load_model(given.model, given.format)
    write, options = WRITERS[given.to], {}
    if given.missing is not None:
        if "missing" not in signature(write).parameters:
            raise ValueError(f"--missing says nothing to the format {given.to}")
        options["missing"] = given.missing
    write_file(given.output, write(model, **options))


# --- files and arguments --------------------------------------------------------------


def parameter(text: str) -> tuple[str, object]:
    """Return name and value of ``name=value``; a value that is no literal is text."""
    name, found, value = text.partition("=")
    if not found:
        raise ValueError(f"--set {text}: give NAME=VALUE, such as n_estimators=500")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


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


def load_alike(paths: list[str]) -> list[Bunch]:
    """Read LETOR files that have the same features; those that none lists are 0."""
    read = [load_letor(path) for path in paths]
    most = max(data.data.shape[1] for data in read)
    for data in read:
        missing = most - data.data.shape[1]
        data.data = np.pad(data.data, ((0, 0), (0, missing))) if missing else data.data
    return read


def load_for(model: BaseEstimator, path: str) -> Bunch:
    """Read a LETOR file with the features of a model; further ones are left out."""
    data, n_features = load_letor(path), model.n_features_in_
    further = data.data.shape[1] - n_features
    if further > 0:
        print(
            f"{path}: features {n_features + 1} to {n_features + further} are left "
            "out, which the model does not know",
            file=sys.stderr,
        )
    data.data = np.pad(data.data, ((0, 0), (0, max(0, -further))))[:, :n_features]
    return data


def format_of(path: str) -> str:
    """Return the format of a model of this package by the name of its file."""
    formats = {".json": "json", ".pkl": "pickle", ".pickle": "pickle"}
    if Path(path).suffix not in formats:
        raise ValueError(f"{path}: a model's file is named *.json or *.pkl")
    return formats[Path(path).suffix]


def load_model(path: str, kind: str | None = None) -> BaseEstimator:
    """Read a model; an error names its file."""
    kind = kind or format_of(path)
    content = Path(path).read_bytes()
    try:
        model = READERS[kind](content)
    except Exception as error:
        raise ValueError(f"{path} cannot be read as {kind}: {error}") from error
    if not hasattr(model, "predict"):
        raise ValueError(f"{path} holds a {type(model).__name__}, which is no model")
    return model


def write_file(path: str, content: str | bytes) -> None:
    """Write text or bytes."""
    if isinstance(content, str):
        content = content.encode()
    Path(path).write_bytes(content)
