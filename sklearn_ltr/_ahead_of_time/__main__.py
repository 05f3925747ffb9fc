"""A process that compiles, some steps first; it prints each when it is done."""

from __future__ import annotations

import os
import sys

from sklearn_ltr._ahead_of_time.small_fits import STEPS
from sklearn_ltr._core.compile import helper

LOWER_PRIORITY = 10  # of what the fit that is helped does not need


def main(names: list[str]) -> None:
    """Take some steps, and then all others."""
    helper.only_compile()
    helps = helper.WHILE_STDIN in names
    if helps:
        names.remove(helper.WHILE_STDIN)
        helper.end_with_stdin()
    for name in dict.fromkeys([*names, *STEPS]):
        if helps and name not in names and hasattr(os, "nice"):
            os.nice(LOWER_PRIORITY)
            helps = False
        STEPS[name]()
        print(name, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
