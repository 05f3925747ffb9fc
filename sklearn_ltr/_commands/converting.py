"""The command convert: write a model in the format of another program."""

from __future__ import annotations

import argparse
import json
from inspect import Parameter, signature
from pathlib import Path

from sklearn_ltr._commands.arguments import Commands, option
from sklearn_ltr._commands.files import READERS, WRITERS, load_model, write_file
from sklearn_ltr._core.strict_json import load_json

#: Options that some writers take; some need them
OPTIONS = ("missing", "name", "feature_set", "engine", "store", "features")


def add_convert(commands: Commands) -> None:
    """Add the command, with its arguments, to the parser."""
    parser = commands.add_parser(
        "convert",
        help="write a model in the format of another program",
        epilog="elasticsearch is the plugin Learning to Rank, also of OpenSearch; "
        "elasticsearch-ml is Elastic's own.  For these and solr the file holds the "
        "requests that upload the model, a JSON list of method, path and body.",
    )
    parser.add_argument("model", help="file of the model")
    parser.add_argument("output", help="file to write")
    parser.add_argument(
        "--from", choices=READERS, dest="format", help="by default json"
    )
    parser.add_argument("--to", choices=WRITERS, required=True)
    parser.add_argument(
        "--missing",
        choices=("branch", "zero"),
        help="zero: missing values go where the number 0 goes; json and pickle hold "
        "the model as it is",
    )
    parser.add_argument("--name", help="name of the model in a search engine")
    parser.add_argument("--feature-set", help="elasticsearch: name of the feature set")
    parser.add_argument(
        "--engine",
        metavar="VERSION",
        help='elasticsearch: what runs the plugin, such as "opensearch 3.5.0"',
    )
    parser.add_argument("--store", help="solr: feature store, _DEFAULT_ by default")
    parser.add_argument(
        "--features",
        metavar="FILE",
        help="search engines: a JSON object with what the engine computes for each "
        "feature, to upload with the model",
    )
    parser.set_defaults(run=run_convert)


def run_convert(given: argparse.Namespace) -> None:
    """Write a model in another format."""
    write = WRITERS[given.to]
    options = {name: getattr(given, name) for name in OPTIONS}
    options = {name: value for name, value in options.items() if value is not None}
    taken = signature(write).parameters
    for name in options:
        if name not in taken:
            raise ValueError(
                f"{option(name)} does not apply to the format {given.to}: leave it out"
            )
    needed = [
        option(name)
        for name, parameter in taken.items()
        if parameter.kind is Parameter.KEYWORD_ONLY
        and parameter.default is Parameter.empty
        and name not in options
    ]
    if needed:
        raise ValueError(f"--to {given.to} needs {' and '.join(needed)}")
    if "features" in options:
        form = 'a JSON object, {"name of a feature": {what the engine computes}, ...}'
        wrong = f"--features {given.features} must be {form}"
        try:
            text = Path(given.features).read_text(encoding="utf-8-sig")
            features = load_json(text)
        except ValueError as error:
            raise ValueError(f"{wrong}: {error}") from error
        if not isinstance(features, dict):
            raise ValueError(f"{wrong}, not a {type(features).__name__}")
        options["features"] = features
    try:
        content = write(load_model(given.model, given.format), **options)
    except ValueError as error:
        message = str(error).replace("missing='zero'", "--missing zero")
        raise ValueError(message) from error
    if isinstance(content, list):  # requests to a search engine
        requests = [request._asdict() for request in content]
        content = json.dumps(requests, indent=1, ensure_ascii=False) + "\n"
    elif given.to == "onnx":
        content = content.SerializeToString()
    write_file(given.output, content)
