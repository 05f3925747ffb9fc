"""Compare our command line with trec_eval's own tests, in a checkout of trec_eval.

    git clone https://github.com/usnistgov/trec_eval
    python -m benchmarks.studies.trec_eval_tests trec_eval

Each command of ``quicktest`` in trec_eval's Makefile is given to ``python -m
sklearn_ltr evaluate``, one measure after another, and each number that trec_eval is to
print is compared with ours.  What we do not know, measures and options, is listed.  The
status is 1 if a number differs.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from sklearn_ltr.__main__ import main as run_command

Values = dict[str, dict[str, str]]  # of each measure, by query


class Case(NamedTuple):
    """A command of trec_eval, without its measures, and the file it is to print."""

    options: list[str]
    qrels: str
    results: str
    expected: str


def read_cases(makefile: Path) -> Iterator[Case]:
    """Yield the commands of the target ``quicktest``."""
    text = makefile.read_text(encoding="utf-8")
    recipe = re.search(r"^quicktest:.*\n((?:\t.*\n)+)", text, re.M)
    if recipe is None:
        raise SystemExit(f"{makefile} has no target 'quicktest' with commands")
    for command in re.findall(r"trec_eval\s(.*?)\|\s*diff - (\S+)", recipe[1]):
        *options, qrels, results = shlex.split(command[0])
        without = re.sub(r"(^| )-m ?\S+", "", shlex.join(options))
        yield Case(shlex.split(without), qrels, results, command[1])


def read_values(text: str) -> Values:
    """Return the numbers that a program has printed."""
    values: Values = {}
    for line in text.splitlines():
        measure, query, value = line.split("\t")
        values.setdefault(measure.strip(), {})[query] = value.strip()
    return values


def evaluate(case: Case, folder: Path, measure: str) -> Values | str:
    """Return what our command line prints; or the last line of its error."""
    output, errors = io.StringIO(), io.StringIO()
    files = [str(folder / case.qrels), "--run", str(folder / case.results)]
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        try:
            status = run_command(["evaluate", *files, *case.options, "-m", measure])
        except SystemExit:  # of argparse
            status = 2
    if status:
        return errors.getvalue().strip().splitlines()[-1]
    return read_values(output.getvalue())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="a checkout of trec_eval")
    folder = parser.parse_args().folder
    n_equal, differing, unknown = 0, 0, {}
    for case in read_cases(folder / "Makefile"):
        command = shlex.join([*case.options, case.qrels, case.results])
        wanted = read_values((folder / case.expected).read_text(encoding="utf-8"))
        known = evaluate(case, folder, "map")
        if isinstance(known, str):
            print(f"{case.expected}: not possible, {command}: {known}")
            continue
        equal = others = 0
        for measure, values in wanted.items():
            found = evaluate(case, folder, measure)
            if isinstance(found, str):
                unknown[measure] = found
                others += len(values)
                continue
            for query, value in values.items():
                ours = found.get(measure, {}).get(query)
                if ours == value:
                    equal += 1
                else:
                    differing += 1
                    print(f"{case.expected}: {measure} {query}: {value}, ours {ours}")
        n_equal += equal
        print(f"{case.expected}: {equal} equal, {others} of unknown measures")
    print(f"\n{n_equal} numbers are equal, {differing} differ")
    print(
        f"{len(unknown)} measures are unknown to the command line: {', '.join(unknown)}"
    )
    return int(differing > 0)


if __name__ == "__main__":
    sys.exit(main())
