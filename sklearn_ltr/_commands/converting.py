"""Write a model in the format of another program."""

from __future__ import annotations

import argparse
from inspect import signature

from sklearn_ltr._commands.files import WRITERS, load_model, write_file


def run_convert(given: argparse.Namespace) -> None:
    """Write a model in another format."""
    model = load_model(given.model, given.format)
    write, options = WRITERS[given.to], {}
    if given.missing is not None:
        if "missing" not in signature(write).parameters:
            raise ValueError(f"--missing says nothing to the format {given.to}")
        options["missing"] = given.missing
    write_file(given.output, write(model, **options))
