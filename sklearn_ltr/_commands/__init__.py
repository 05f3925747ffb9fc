"""Commands on files: train a ranker, rank documents, evaluate, compare, convert models.

Data are LETOR files (``grade qid:query 1:value 2:value ... # docid = name``); ranked
lists are TREC runs, and grades TREC judgements.  A model is a file of this package,
JSON (``.json``) or a pickle (``.pkl``), or of another library.
"""

from __future__ import annotations

import argparse

from sklearn_ltr._commands.arguments import (
    ListBeforeFiles,
    positive,
    refusal,
    whole_number,
)
from sklearn_ltr._commands.comparing import run_compare
from sklearn_ltr._commands.converting import run_convert
from sklearn_ltr._commands.evaluating import run_evaluate
from sklearn_ltr._commands.files import (
    MISSING,
    READERS,
    WRITERS,
    ZERO_BASED,
    is_model_file,
)
from sklearn_ltr._commands.learning import RANKERS, run_rank, run_train
from sklearn_ltr._commands.measures import (
    DEFAULTS,
    IR_MEASURES,
    LIST_MEASURES,
    MEASURES,
    OFFICIAL,
    is_measure,
)

A_MODEL = "a model: .json, or .pkl (loading it executes it: only files you trust)"


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the commands, with their arguments, to the parser."""
    train = commands.add_parser(
        "train",
        help="train a ranker on LETOR files",
        epilog="example: python -m sklearn_ltr train train.txt --valid vali.txt "
        "--model model.json --set n_estimators=500 learning_rate=0.05",
    )
    train.add_argument(
        "files",
        nargs="*",
        action="extend",
        metavar="file",
        help="LETOR files, plain, .gz or .bz2; their rows are joined",
    )
    train.add_argument("--model", help="file to write: .json or .pkl")
    train.add_argument("--valid", help="LETOR file for early stopping")
    train.add_argument(
        "--folds",
        "-kcv",
        type=whole_number(2),
        metavar="K",
        help="cross-validate by K folds of whole queries; --model learns from all",
    )
    train.add_argument("--ranker", choices=RANKERS, default="lambdamart")
    train.add_argument("--metric", help="metric to train for, and to report by --folds")
    train.add_argument(
        "--seed",
        type=whole_number(0, 2**32 - 1),
        default=0,
        help="random_state, 0 by default",
    )
    train.add_argument("--quiet", action="store_true", help="print no progress")
    parameters = train.add_argument(
        "--set",
        action=ListBeforeFiles,
        is_value=lambda word: "=" in word,
        metavar="NAME=VALUE",
        help="parameters of the ranker, by their names in Python",
    )
    add_features(train)
    train.set_defaults(run=run_train, refuse=refusal(train, parameters))

    rank = commands.add_parser(
        "rank",
        help="write the ranked lists of a LETOR file, a TREC run",
        epilog="The name of a document is its '# docid = name', or the line's number.",
    )
    rank.add_argument("data", help="LETOR file")
    rank.add_argument("--model", required=True, help=A_MODEL)
    rank.add_argument("--run", required=True, help="TREC run to write", dest="to")
    rank.add_argument("--tag", default="sklearn_ltr", help="name of the run in it")
    add_features(rank)
    rank.set_defaults(run=run_rank)

    trec_eval = ", ".join(dict.fromkeys([*MEASURES, *DEFAULTS, *LIST_MEASURES]))
    evaluate = commands.add_parser(
        "evaluate",
        help="measure a model on a LETOR file, or a TREC run by judgements",
        epilog="Metrics are named as in Python, ndcg@10, map, err@20, ..., or as in "
        f"trec_eval, {trec_eval}, with cutoffs: ndcg_cut_10, P.5,10 (and {OFFICIAL}: "
        "all that trec_eval prints by default); or as in ir_measures, "
        f"{', '.join(IR_MEASURES)}: nDCG@10.  NDCG has exponential gains in the first, "
        "linear ones in the others.",
    )
    evaluate.add_argument(
        "files",
        nargs="*",
        action="extend",
        metavar="file",
        help="judgements, qrels or a LETOR file, and a TREC run; or a LETOR file for "
        "a model",
    )
    source = evaluate.add_mutually_exclusive_group()
    source.add_argument("--model", help=A_MODEL)
    source.add_argument("--run", help="TREC run", dest="run_file")
    metric = add_measuring(evaluate)
    evaluate.add_argument(
        "-q", "--per-query", action="store_true", help="print each query's value, too"
    )
    add_features(evaluate)
    evaluate.set_defaults(run=run_evaluate, refuse=refusal(evaluate, metric))

    compare = commands.add_parser(
        "compare",
        help="compare runs, or models, query by query, and test the differences",
        epilog="A difference is a later file minus an earlier one: its mean, the "
        "interval by the bootstrap, the p-value of a permutation test, the same "
        "corrected by Holm for the number of pairs, and the queries needed "
        "to see a --difference with power 80%.  Metrics are named as for evaluate.",
    )
    compare.add_argument(
        "files",
        nargs="*",
        action="extend",
        metavar="file",
        help="judgements, qrels or a LETOR file, and two or more TREC runs; or a LETOR "
        "file for models",
    )
    compare.add_argument(
        "--models",
        action=ListBeforeFiles,
        is_value=is_model_file,
        metavar="MODEL",
        help="two or more models: .json, or .pkl (which are executed)",
    )
    metric = add_measuring(compare)
    compare.add_argument(
        "--difference",
        type=positive,
        default=0.01,
        help="the smallest difference that matters, 0.01 by default",
    )
    compare.add_argument(
        "--seed", type=whole_number(0, 2**32 - 1), default=0, help="seed of the draws"
    )
    add_features(compare)
    compare.set_defaults(run=run_compare, refuse=refusal(compare, metric))

    convert = commands.add_parser(
        "convert",
        help="write a model in the format of another program",
        epilog="elasticsearch is the plugin Learning to Rank, also of OpenSearch; "
        "elasticsearch-ml is Elastic's own.  For these and solr the file holds the "
        "requests that upload the model, a JSON list of method, path and body.",
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
        help="ranklib, xgboost, solr: where missing values go, as in Python",
    )
    convert.add_argument("--name", help="name of the model in a search engine")
    convert.add_argument("--feature-set", help="elasticsearch: name of the feature set")
    convert.add_argument("--store", help="solr: feature store, _DEFAULT_ by default")
    convert.add_argument(
        "--features",
        metavar="FILE",
        help="search engines: a JSON object with what the engine computes for each "
        "feature, to upload with the model",
    )
    convert.set_defaults(run=run_convert)


def add_measuring(command: argparse.ArgumentParser) -> argparse.Action:
    """Add the options of measuring; return the one of metrics."""
    metric = command.add_argument(
        "-m",
        "--metric",
        action=ListBeforeFiles,
        is_value=is_measure,
        help="ndcg@10 by default; files may follow, after '--' if named like a metric",
    )
    command.add_argument(
        "-l",
        "--level",
        type=positive,
        help="the lowest relevant grade, for metrics of relevant documents",
    )
    command.add_argument(
        "-c",
        "--complete",
        action="store_true",
        help="a judged query without a line in a run counts 0",
    )
    command.add_argument(
        "-M",
        "--max-documents",
        type=whole_number(1),
        metavar="N",
        help="only the first N documents of each list count as retrieved",
    )
    return metric


def add_features(command: argparse.ArgumentParser) -> None:
    """Add the options of the features of LETOR files."""
    command.add_argument(
        "--n-features",
        type=whole_number(1),
        metavar="N",
        help="number of features; by default the highest in the files, or the model's",
    )
    command.add_argument(
        "--zero-based",
        choices=ZERO_BASED,
        default="no",
        help="whether features are numbered from 0 (default no: from 1); auto: if the "
        "number 0 occurs",
    )
