"""What cannot be a file of judgements, runs or features, or be joined or written."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from sklearn_ltr.datasets import (
    dump_qrels,
    dump_run,
    join_run,
    load_letor,
    load_qrels,
    load_run,
    make_ranking,
)
from tests.bad_inputs import HUGE, INF, NAN, Bad, refused


def load(loader: Callable[..., Any], text: str, **options: Any) -> Any:
    with TemporaryDirectory() as folder:
        (Path(folder) / "file").write_text(text)
        return loader(Path(folder) / "file", **options)


QRELS, RUN = "1 0 a 1\n", "1 Q0 a 1 0.5 t\n"
OF_QRELS = "'topic iteration document grade'"
TWICE = "document 'a' of topic '1' is in line 1 already"
OUT = "leave documents that are not ranked out of the run"
TEXTS: list[tuple[Callable[..., Any], str, str]] = [
    (load_qrels, QRELS + "1 a 1\n",
     f"line 2: 3 fields instead of the 4 of {OF_QRELS}: '1 a"),
    (load_qrels, "1 0 a good\n", "line 1: the grade is not an integer, 'g"),
    (load_qrels, "\n1 0 a 0.5\n", "line 2: the grade is not an integer, '0.5'"),
    (load_qrels, QRELS + "2 0 a 1\n1 1 a 0\n", f"line 3: {TWICE}"),
    (load_run, "1 Q0 a 1 0.5\n", "line 1: 5 fields instead of the 6 of 'topic Q0 doc"),
    (load_run, "1 Q0 a 1 high t\n", "line 1: the score is not a number: 'high'"),
    (load_run, RUN + "1 Q0 b 2 -inf t\n", f"line 2: the score is '-inf': {OUT}"),
    (load_letor, "", "holds no documents"),
    (load_letor, "1 qid:1 1:2\n0 1:1\n",
     "line 2: 'qid:' and a number must follow the grade, not '1:1'"),
    (load_letor, "1 qid:1 0:2\n", "feature 0 is below 1"),
    (partial(load_letor, n_features=2), "1 qid:1 3:2\n", "feature 3 is beyond"),
]  # fmt: skip


@pytest.mark.parametrize(("loader", "text", "message"), TEXTS)
def test_what_is_no_file_of_the_format_is_refused(loader, text, message):
    refused(lambda: load(loader, text), ValueError, message)


@pytest.mark.parametrize("loader", [load_qrels, load_run, load_letor])
def test_what_is_no_path_is_refused(loader):
    message = "path must be a string or a path-like object, got"
    for path in (None, 3, b"x"):
        refused(lambda path=path: loader(path), TypeError, message)
    for sizes in (3, [1], np.array([1])):
        refused(
            lambda sizes=sizes: load_letor("f", sizes=sizes),
            TypeError,
            "sizes must be a string or a path-like object, got",
        )


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
    """Write two rows of which columns are replaced; nothing is left of bad ones."""
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
NO_SPACE = "must hold names without white space, but row"
COLUMNS: list[Bad] = [
    ({"documents": ["a"]}, ValueError, "{}groups has 2 values for the 1 of {}docum"),
    ({"groups": [], "documents": []}, ValueError, "{}documents is empty: give"),
    *(({name: None}, ValueError, f"{{}}{name} is None: give one name")
      for name in ("documents", "groups")),
    ({"groups": ["", "1"]}, ValueError, f"{{}}groups {NO_SPACE} 0 has ''"),
    ({"groups": [1.0, 1.0]}, TypeError,
     "{}groups must hold strings or integers, but row 0 has 1.0"),
    ({"documents": ["a", 1]}, TypeError,
     "{}documents has both strings and integers, 'a' at row 0 and 1 at row 1"),
    ({"documents": ["a", "a"]}, ValueError,
     "{}documents has 'a' twice for query 1, at rows 0 and 1"),
    ({"documents": np.array([["a", "b"]] * 2)}, ValueError,
     "{}documents must have one dimension, got shape (2, 2)"),
]  # fmt: skip


@pytest.mark.parametrize("entry", ["dump_qrels", "dump_run"])
def test_names_that_files_cannot_hold_are_refused(entry):
    message = f"documents {NO_SPACE} 1 has 'b c'"
    refused(lambda: ENTRIES[entry][0](documents=["a", "b c"]), ValueError, message)


def test_names_of_queries_may_be_their_words():
    columns = {"groups": ["red hat", "red hat"], "documents": ["a", "b c"]}
    assert joined(run=columns, qrels=columns).y_true.tolist() == [1, 0]


@pytest.mark.parametrize(("columns", "error", "message"), COLUMNS)
@pytest.mark.parametrize("entry", ENTRIES)
def test_columns_that_name_no_documents_are_refused(entry, columns, error, message):
    call, prefix = ENTRIES[entry]
    refused(lambda: call(**columns), error, message.replace("{}", prefix))


class Ranx:
    """A run of ranx has the methods of a dict, each of which takes seconds."""

    def keys(self):
        raise AssertionError

    def to_dict(self):
        raise AssertionError


INTEGERS = "grades must be integers in a file of judgements, but row"
FIELDS = "must be a Bunch, dict or frame of groups, documents,"
OTHERS: list[tuple[Callable[..., Any], dict[str, Any], type[Exception], str]] = [
    (dumped, {"dump": dump_qrels, "numbers": [1, 0.5]}, ValueError,
     f"{INTEGERS} 1 (query 1) has 0.5"),
    (dumped, {"dump": dump_qrels, "numbers": [1]}, ValueError,
     "grades must hold one number for each of the 2 rows, got shape (1,)"),
    (dumped, {"dump": dump_run, "numbers": [1, -INF]}, ValueError,
     "scores must be finite to be ranked, but row 1 (query 1) has -inf; leave docum"),
    *((dumped, {"dump": dump_run, "numbers": [1, 0], "tag": tag}, ValueError,
       f"tag must be a string without white space, got {tag!r}")
      for tag in ("my run", "")),
    (joined, {"run": [1]}, TypeError,
     f"run {FIELDS} scores, or a dict of dicts by topic and document, got list: a "
     "list of rows becomes a frame by pandas.DataFrame(rows)"),
    (joined, {"run": pl.LazyFrame({"groups": [1]})}, TypeError,
     "got LazyFrame: collect it"),
    (joined, {"qrels": Ranx()}, TypeError, "got Ranx: give its to_dict()"),
    (join_run, {"run": {"q": {"a": 1}, "r": ["a"]}, "qrels": {}}, TypeError,
     "run['r'] is a list: give a dict of scores by document for each topic"),
    (join_run, {"run": {"q": {"a": 1}}, "qrels": {"q": {}, "r": {}}}, ValueError,
     "qrels.documents is empty"),
    (join_run, {"run": {"q": ["a"]}, "qrels": {}}, ValueError,
     "or a dict of dicts by topic and document; it has 'q', and groups may be called "
     "qid, queryid,"),
    (join_run, {"run": pd.DataFrame({"qid": [1], "pid": [1], "rank": [1]}),
                "qrels": {}}, ValueError, "called score; of ranks give -rank"),
    *((joined, {"unjudged": grade}, error, "unjudged must be")
      for grade, error in ((-1, ValueError), (NAN, ValueError), (None, TypeError),
                           ("one", ValueError), (True, TypeError))),
    (joined, {"run": pd.DataFrame({"groups": [1], "documents": [1], "grades": [1]})},
     ValueError, "run has no 'scores': give groups, documents, scores"),
    (joined, {"qrels": {"grades": [1, NAN]}}, ValueError,
     "qrels.grades must be finite, but row 1 (query 1) has nan"),
    (joined, {"run": {"scores": [1, NAN]}}, ValueError,
     "run.scores must be finite to be ranked, but row 1 (query 1) has nan"),
    (joined, {"qrels": {"grades": [1, -2]}}, ValueError,
     "qrels.grades has the negative grade -2 (document 'c' of query 1): give nega"),
    (joined, {"qrels": {"groups": [2, 2]}}, ValueError,
     "run and qrels have no topic in common: run.groups has 1, qrels.groups has 2"),
    (joined, {"qrels": {"groups": ["1", "1"]}}, TypeError,
     "run.groups has names such as 1 and qrels.groups such as '1': give strings in"),
    (joined, {"qrels": {"documents": [1, 2]}}, TypeError,
     "run.documents has names such as 'a' and qrels.documents such as 1: give str"),
    (joined, {"qrels": {"documents": ["x", "y"]}, "unjudged": "drop"}, ValueError,
     'run has no judged document, so unjudged="drop" leaves nothing'),
    (joined, {"topics": "run"}, ValueError,
     "topics must be one of ('qrels', 'both'), got 'run'"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "given", "error", "message"), OTHERS)
def test_what_cannot_be_joined_or_written_is_refused(call, given, error, message):
    refused(lambda: call(**given), error, message)


@pytest.mark.parametrize(
    "make", [np.array, lambda n: np.array(n, dtype=object), pd.Series, tuple]
)
def test_names_may_come_in_other_forms(make):
    assert joined(run={"documents": make(["a", "b"])}).y_true.tolist() == [1.0, 0.0]


# --- made data ------------------------------------------------------------------------

SHARES = "must be numbers >= 0 that sum to 1"
DTYPE = "dtype must be a floating type"
#: the range, values out of it, and values of other types
MADE: dict[str, tuple[str, list[Any], list[Any]]] = {
    **dict.fromkeys(
        ("n_queries", "n_features", "n_informative"),
        ("an integer >= 1", [0, -1], [2.0, "3", None, True]),
    ),
    "n_query_features": ("an integer >= 0", [-1], [1.5, None, True]),
    "n_documents": ("a number >= 1", [0.5, NAN, INF, HUGE], ["5", None, True]),
    **dict.fromkeys(
        ("heavy_tails", "integers", "zeros", "missing"),
        ("a number in [0, 1]", [-0.1, 1.1, NAN, HUGE], ["0", None, True]),
    ),
    "noise": ("a number >= 0", [-1, NAN, INF, HUGE], ["0", None, True]),
}


@pytest.mark.parametrize("name", MADE)
def test_numbers_of_made_data_have_ranges(name):
    words, beyond, others = MADE[name]
    for error, values in ((ValueError, beyond), (TypeError, others)):
        for value in values:
            message = f"{name} must be {words}, got "
            refused(lambda v=value: make_ranking(**{name: v}), error, message)


N_FEATURES = "n_features must be an integer >= 1 or None"
load_one = partial(load, load_letor, "1 qid:1 1:2\n")


@pytest.mark.parametrize(
    ("call", "given", "error", "message"),
    [
        *((make_ranking, {"grade_shares": shares}, ValueError, SHARES)
          for shares in ([0.5, 0.4], [1.5, -0.5], [0.5, NAN], [])),
        *((make_ranking, {"grade_shares": shares}, ValueError, "grade_shares")
          for shares in (None, 1.0, ["1"], {0: 1.0}, np.eye(2))),
        (make_ranking, {"n_features": 3, "n_informative": 3}, ValueError,
         "n_features=3 is fewer than n_informative + n_query_features = 3 + 2"),
        *((load_one, {"n_features": n}, ValueError, N_FEATURES) for n in (0, -1)),
        *((load_one, {"n_features": n}, TypeError, N_FEATURES) for n in (2.0, True)),
        *((call, {"dtype": dtype}, ValueError, DTYPE)
          for call in (make_ranking, load_one) for dtype in (int, object)),
        *((call, {"dtype": "number"}, TypeError, f"{DTYPE}, got 'number'")
          for call in (make_ranking, load_one)),
    ],
)  # fmt: skip
def test_what_data_cannot_be_made_of_is_refused(call, given, error, message):
    refused(lambda: call(**given), error, message)
