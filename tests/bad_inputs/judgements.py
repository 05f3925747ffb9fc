"""What cannot be a file of judgements or of a run, or be joined or written as one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from sklearn_ltr.datasets import (
    dump_qrels,
    dump_run,
    join_run,
    load_qrels,
    load_run,
)
from tests.bad_inputs import Case, accepted


def load(loader: Callable[[Any], Any], text: str) -> Any:
    with TemporaryDirectory() as folder:
        (Path(folder) / "file").write_text(text)
        return loader(Path(folder) / "file")


GOOD_QRELS, GOOD_RUN = "1 0 a 1\n", "1 Q0 a 1 0.5 t\n"
QRELS: dict[str, tuple[str, str]] = {
    "nothing": ("", "holds no lines 'topic iteration document grade'"),
    "empty lines": ("\n \n", "holds no lines 'topic iteration document grade'"),
    "three fields": (
        GOOD_QRELS + "1 a 1\n",
        "line 2: 3 fields instead of the 4 of 'topic iteration document grade': '1 a",
    ),
    "a run": (GOOD_RUN, "line 1: 6 fields instead of the 4 of"),
    "a grade that is a word": (
        "1 0 a good\n",
        "line 1: the grade is not an integer: 'g",
    ),
    "a real grade": ("\n1 0 a 0.5\n", "line 2: the grade is not an integer: '0.5'"),
    "a document twice": (
        GOOD_QRELS + "2 0 a 1\n1 1 a 0\n",
        "line 3: document 'a' of topic '1' is in line 1 already",
    ),
}
RUN: dict[str, tuple[str, str]] = {
    "nothing": ("", "holds no lines 'topic Q0 document rank score tag'"),
    "no tag": ("1 Q0 a 1 0.5\n", "line 1: 5 fields instead of the 6 of 'topic Q0 doc"),
    "a score that is a word": (
        "1 Q0 a 1 high t\n",
        "line 1: the score is not a number: 'high'",
    ),
    "NaN": (
        "1 Q0 a 1 nan t\n",
        "line 1: the score is nan: leave documents that are not",
    ),
    "minus infinity": (
        GOOD_RUN + "1 Q0 b 2 -inf t\n",
        "line 2: the score is -inf: leave documents that are not ranked out of the run",
    ),
    "a document twice": (
        GOOD_RUN + GOOD_RUN,
        "line 2: document 'a' of topic '1' is in line 1 already",
    ),
    "two runs": (
        GOOD_RUN + "2 Q0 a 1 0.5 other\n",
        "line 2: tag 'other' after 't': give one run per file",
    ),
}
CASES = [
    Case(
        f"{what} to {loader.__name__}", partial(load, loader, text), ValueError, message
    )
    for loader, table in ((load_qrels, QRELS), (load_run, RUN))
    for what, (text, message) in table.items()
]
CASES += [
    Case(
        f"a number as path to {loader.__name__}",
        partial(loader, 3),
        TypeError,
        "path must be a string or a path-like object, got 3",
    )
    for loader in (load_qrels, load_run)
]

# --- columns of a run and of judgements -----------------------------------------------


def joined(run: Any = None, qrels: Any = None, **options: Any) -> Any:
    """Join a good run and good judgements in which columns are replaced."""
    good_run = {"groups": [1, 1], "documents": ["a", "b"], "scores": [2, 1]}
    good_qrels = {"groups": [1, 1], "documents": ["a", "c"], "grades": [1, 0]}
    if run is None or isinstance(run, dict):
        run = good_run | (run or {})
    if qrels is None or isinstance(qrels, dict):
        qrels = good_qrels | (qrels or {})
    return join_run(run, qrels, **options)


def dumped(dump: Callable[..., None], numbers: Any, **columns: Any) -> Any:
    """Write two rows of which columns are replaced; return what was written."""
    given = {"groups": [1, 1], "documents": ["a", "b"]} | columns
    with TemporaryDirectory() as folder:
        try:
            dump(Path(folder) / "file", numbers, **given)
        except Exception:
            assert not any(Path(folder).iterdir())
            raise
        return (Path(folder) / "file").read_text()


ENTRIES: dict[str, tuple[Callable[..., Any], str]] = {
    "dump_qrels": (lambda **columns: dumped(dump_qrels, [1, 0], **columns), ""),
    "dump_run": (lambda **columns: dumped(dump_run, [1, 0], **columns), ""),
    "run of join_run": (lambda **columns: joined(run=columns), "run."),
    "qrels of join_run": (lambda **columns: joined(qrels=columns), "qrels."),
}
COLUMNS: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "too few documents": (
        {"documents": ["a"]},
        ValueError,
        "{}groups has 2 values for the 1 of {}documents",
    ),
    "no rows": (
        {"groups": [], "documents": []},
        ValueError,
        "{}documents is empty: there are no rows",
    ),
    "None as documents": (
        {"documents": None},
        ValueError,
        "{}documents is None: give one name per row",
    ),
    "None as groups": (
        {"groups": None},
        ValueError,
        "{}groups is None: give one name per row",
    ),
    "a name with a space": (
        {"documents": ["a", "b c"]},
        ValueError,
        "{}documents must hold names without white space, but row 1 has 'b c'",
    ),
    "an empty name": (
        {"groups": ["", "1"]},
        ValueError,
        "{}groups must hold names without white space, but row 0 has ''",
    ),
    "real numbers as names": (
        {"groups": [1.0, 1.0]},
        TypeError,
        "{}groups must hold strings or integers, but row 0 has 1.0",
    ),
    "names of two types": (
        {"documents": ["a", 1]},
        TypeError,
        "{}documents has both strings and integers, 'a' at row 0 and 1 at row 1",
    ),
    "a document twice": (
        {"documents": ["a", "a"]},
        ValueError,
        "{}documents has 'a' twice for query 1, at rows 0 and 1",
    ),
    "two columns of documents": (
        {"documents": np.array([["a", "b"]] * 2)},
        ValueError,
        "{}documents must have one dimension, got shape (2, 2)",
    ),
}
CASES += [
    Case(
        f"{what} to {entry}",
        partial(call, **columns),
        error,
        message.replace("{}", prefix),
    )
    for entry, (call, prefix) in ENTRIES.items()
    for what, (columns, error, message) in COLUMNS.items()
]
OTHERS: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "real grades to dump_qrels": (
        lambda: dumped(dump_qrels, [1, 0.5]),
        ValueError,
        "grades must be integers in a file of judgements, but row 1 (query 1) has 0.5",
    ),
    "NaN to dump_qrels": (
        lambda: dumped(dump_qrels, [np.nan, 1]),
        ValueError,
        "grades must be integers in a file of judgements, but row 0 (query 1) has nan",
    ),
    "too few grades to dump_qrels": (
        lambda: dumped(dump_qrels, [1]),
        ValueError,
        "grades must hold one number for each of the 2 rows, got shape (1,)",
    ),
    "minus infinity to dump_run": (
        lambda: dumped(dump_run, [1, -np.inf]),
        ValueError,
        "scores must be finite to be ranked, but row 1 (query 1) has -inf; leave docum",
    ),
    "a tag with a space": (
        lambda: dumped(dump_run, [1, 0], tag="my run"),
        ValueError,
        "tag must be a string without white space, got 'my run'",
    ),
    "an empty tag": (
        lambda: dumped(dump_run, [1, 0], tag=""),
        ValueError,
        "tag must be a string without white space, got ''",
    ),
    "a list as run": (
        lambda: joined(run=[1]),
        TypeError,
        "run must be a Bunch, dict or frame of groups, documents, scores, got list",
    ),
    "judgements as run": (
        lambda: join_run(
            {"groups": [1], "documents": [1], "grades": [1]},
            {"groups": [1], "documents": [1], "grades": [1]},
        ),
        ValueError,
        "run has no 'scores'; it needs groups, documents, scores",
    ),
    "a frame as qrels": (
        lambda: joined(qrels=pd.DataFrame({"groups": [1]})["groups"].to_numpy()),
        TypeError,
        "qrels must be a Bunch, dict or frame of groups, documents, grades, got nd",
    ),
    "NaN as score of join_run": (
        lambda: joined(run={"scores": [1, np.nan]}),
        ValueError,
        "run.scores must be finite to be ranked, but row 1 (query 1) has nan",
    ),
    "NaN as grade of join_run": (
        lambda: joined(qrels={"grades": [1, np.nan]}),
        ValueError,
        "qrels.grades must be finite, but row 1 (query 1) has nan",
    ),
    "a negative grade": (
        lambda: joined(qrels={"grades": [1, -2]}),
        ValueError,
        "qrels.grades has the negative grade -2 (document 'c' of query 1): give nega",
    ),
    "no common topic": (
        lambda: joined(qrels={"groups": [2, 2]}),
        ValueError,
        "run and qrels have no topic in common: run.groups has 1, qrels.groups has 2",
    ),
    "topics of two types": (
        lambda: joined(qrels={"groups": ["1", "1"]}),
        TypeError,
        "run.groups has names such as 1 and qrels.groups such as '1': give strings in",
    ),
    "documents of two types": (
        lambda: joined(qrels={"documents": [1, 2]}),
        TypeError,
        "run.documents has names such as 'a' and qrels.documents such as 1: give str",
    ),
    "no judged document": (
        lambda: joined(qrels={"documents": ["x", "y"]}, unjudged="drop"),
        ValueError,
        'run has no judged document: unjudged="drop" leaves nothing',
    ),
    "an unknown rule for topics": (
        lambda: joined(topics="run"),
        ValueError,
        "topics must be one of ('qrels', 'both'), got 'run'",
    ),
    "an unknown rule for unjudged documents": (
        lambda: joined(unjudged=None),
        ValueError,
        "unjudged must be one of ('zero', 'drop'), got None",
    ),
    "an unknown rule for negative grades": (
        lambda: joined(negative="zero"),
        ValueError,
        "negative must be one of ('error', 'unjudged'), got 'zero'",
    ),
}
CASES += [Case(what, *row) for what, row in OTHERS.items()]
CASES += [
    accepted(
        f"names in {what}",
        lambda make=make: (
            joined(run={"documents": make(["a", "b"])}).y_true.tolist() == [1.0, 0.0]
        ),
    )
    for what, make in {
        "an array": np.array,
        "an array of objects": lambda names: np.array(names, dtype=object),
        "a series": pd.Series,
        "a tuple": tuple,
    }.items()
]
CASES += [
    accepted("good judgements", lambda: load(load_qrels, GOOD_QRELS).grades[0] == 1),
    accepted(
        "frames",
        lambda: (
            joined(
                run=pd.DataFrame({"groups": [1], "documents": ["a"], "scores": [2]})
            ).y_missing.tolist()
            == [0.0]
        ),
    ),
    accepted("a good run", lambda: load(load_run, GOOD_RUN).tag == "t"),
    accepted(
        "negative grades to dump_qrels",
        lambda: dumped(dump_qrels, [-1, 2]) == "1 0 a -1\n1 0 b 2\n",
    ),
]
