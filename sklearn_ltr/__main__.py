"""The command line, ``python -m sklearn_ltr``: train, rank, evaluate, compare, ..."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from sklearn_ltr import __version__, _commands


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return the exit status: 0, 1 after an error (argparse has 2)."""
    parser = argparse.ArgumentParser(
        prog="python -m sklearn_ltr", description="Learning to rank on files."
    )
    parser.add_argument(
        "--version", action="version", version=f"sklearn_ltr {__version__}"
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for add_command in _commands.COMMANDS:
        add_command(commands)
    given, left = parser.parse_known_args(arguments)
    # argparse takes files up to the first option after them
    if left and (not hasattr(given, "files") or any(w.startswith("-") for w in left)):
        parser.error(f"unrecognized arguments: {' '.join(left)}")
    if left:
        given.files += left
    try:
        given.run(given)
    except (ValueError, TypeError, OSError, ImportError) as error:
        message = " ".join(str(error).split("\n"))  # long ones have several lines
        print(f"{parser.prog} {given.command}: error: {message}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
