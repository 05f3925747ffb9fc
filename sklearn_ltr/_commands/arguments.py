"""Types and lists of arguments of commands; errors say what to give."""

from __future__ import annotations

import argparse
import os
from argparse import ArgumentTypeError
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeAlias

import numpy as np

LARGEST = 10**18 - 1

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def add_files(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the files of a command, which may stand on both sides of its options."""
    parser.add_argument("files", nargs="*", action="extend", metavar="file", help=what)


class ListBeforeFiles(argparse.Action):
    """An option of several values, which may come before the files of the command.

    argparse gives it all words up to the next option.  Words at the end that are not
    values, and name a file, go to the files.
    """

    def __init__(self, *, is_value: Callable[[str], bool], **options: Any) -> None:
        super().__init__(nargs="+", **options)
        self.is_value = is_value

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        """Divide the words into values and files."""
        words = list(values or [])
        n_values = len(words)
        while n_values > 1:
            last = words[n_values - 1]
            if self.is_value(last) or not os.path.exists(last):
                break
            n_values -= 1
        given = getattr(namespace, self.dest) or []
        setattr(namespace, self.dest, [*given, *words[:n_values]])
        namespace.files = [*(namespace.files or []), *words[n_values:]]


def add_seed(parser: argparse.ArgumentParser, what: str = "random_state") -> None:
    """Add the option of a seed."""
    of_numpy, what = whole_number(0, 2**32 - 1), f"{what}, 0 by default"
    parser.add_argument("--seed", type=of_numpy, default=0, help=what)


def option(name: str) -> str:
    """Return the option of an argument."""
    return f"--{name.replace('_', '-')}"


def refusal(
    parser: argparse.ArgumentParser, listed: argparse.Action
) -> Callable[[argparse.Namespace, str], NoReturn]:
    """Return a function that ends a command, with its usage and the status 2."""

    def refuse(given: argparse.Namespace, what: str) -> NoReturn:
        words = getattr(given, listed.dest) or []
        if (
            isinstance(listed, ListBeforeFiles)
            and words
            and not listed.is_value(words[-1])
        ):
            what += f"; there is no file {words[-1]!r}"
        parser.error(what)

    return refuse


def whole_number(least: int, most: int = LARGEST) -> Callable[[str], int]:
    """Return a reader of integers from `least` on, written in digits of ASCII."""
    taken = f">= {least}" if most == LARGEST else f"from {least} to {most}"

    def read(text: str) -> int:
        is_whole = text.isascii() and text.isdecimal() and len(text) < 19
        if not is_whole or not least <= int(text) <= most:
            raise ArgumentTypeError(f"must be an integer {taken}, got {text!r}")
        return int(text)

    return read


def positive(text: str) -> float:
    """Return a finite number above zero."""
    try:
        number = float(text)
    except ValueError:
        number = np.nan
    if not 0 < number < np.inf or "_" in text or not text.isascii():
        raise ArgumentTypeError(f"must be a number > 0, got {text!r}")
    return number
