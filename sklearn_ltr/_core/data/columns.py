"""The columns of the rows: y, and those that `fit` takes beside X, y and groups.

Each is read, checked, and sorted to the canonical order of the queries.  `RowColumns`
declares the columns of `fit`, one field with a reader for each.  All code that selects,
sorts or passes on rows reads the declarations.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_ltr._core.data.groups import QueryGroups, query_at
from sklearn_ltr._core.data.pairs import PAIRS_TEXT
from sklearn_ltr._core.data.query_values import (
    check_one_way,
    number_dates,
    number_users,
)
from sklearn_ltr._core.data.rows import check_each, read_numbers, read_weights
from sklearn_ltr._core.docstrings import fill_in
from sklearn_ltr._core.parameters import LARGEST, SMALLEST
from sklearn_ltr._core.typing import FloatArray, IntArray

MOST_POSITIONS = 1000  # click models hold dense matrices of (position, position)
NOT_RANKED = (
    "; leave documents that were not ranked out of the rows, and give their grades to "
    "a metric by y_missing and groups_missing"
)
NOT_JUDGED = "; if it stands for a document that was not judged{example}, drop the row"
BY_DOCUMENT = "; for weights of single documents give document_weight"
NO_GRADES = (
    ". For returns, or numbers where lower is better, such as finishing places, "
    "give the rank in the query, 0 for the worst"
)


def check_grades(
    y: ArrayLike | None, queries: QueryGroups, name: str = "y"
) -> FloatArray:
    """Return grades, finite and >= 0, in canonical order, (n_documents,) float64."""
    grades = _read_rows(y, queries, name, warns_of_column=True)
    valid = (grades >= 0) & (grades < np.inf)
    advice = ""
    if not valid.all():
        grade = grades[np.argmin(valid)]
        if grade < 0:
            advice = NOT_JUDGED.format(example=", as -1 does in files of TREC")
            advice += NO_GRADES
        elif np.isnan(grade):
            advice = NOT_JUDGED.format(example="")
    required = f"{name} must hold finite relevance grades >= 0"
    check_each(valid, grades, queries.describe_row, required, advice)
    return queries.sort(grades)


def check_scores(
    y_score: object,
    queries: QueryGroups,
    name: str = "y_score",
    *,
    only_order: bool = False,
) -> FloatArray:
    """Return finite scores in canonical order; ranks of equal ones if `only_order`."""
    scores = _read_rows(y_score, queries, name, only_order=only_order)
    valid = np.isfinite(scores)
    is_unranked = not valid.all() and scores[np.argmin(valid)] == -np.inf
    advice = NOT_RANKED if is_unranked else ""
    required = f"{name} must be finite to be ranked"
    check_each(valid, scores, queries.describe_row, required, advice)
    return queries.sort(scores)


def check_sample_weight(
    sample_weight: ArrayLike | None, queries: QueryGroups, name: str = "sample_weight"
) -> FloatArray:
    """Return the weight of each query, (n_queries,) float64; all ones if None."""
    if sample_weight is None:
        return np.ones(queries.n_queries)
    if not queries.sizes.all():
        empty = queries.describe(int(np.argmin(queries.sizes)))
        raise ValueError(
            f"{name} is given per row, but query {empty} has no row, only documents in "
            f"groups_missing: leave {name} out"
        )
    canonical = _sorted_weights(sample_weight, queries, name)
    weights = canonical[queries.offsets[:-1]]
    differs = canonical != np.repeat(weights, queries.sizes)
    if differs.any():
        position = int(np.argmax(differs))
        query = query_at(position, queries.offsets)
        raise ValueError(
            f"{name} weighs whole queries, so it must be constant within a query, but "
            f"query {queries.describe(query)} has both {weights[query]} and "
            f"{canonical[position]}{BY_DOCUMENT}"
        )
    if not weights.any():
        raise ValueError(f"{name} is zero for every query: give some a weight above 0")
    return weights


def check_document_weight(
    document_weight: ArrayLike,
    queries: QueryGroups,
    name: str = "document_weight",
) -> FloatArray:
    """Return weights of documents in canonical order, some above 0 in each query."""
    canonical = _sorted_weights(document_weight, queries, name)
    counts = np.logical_or.reduceat(canonical > 0, queries.offsets[:-1])
    if not counts.all():
        query = queries.describe(int(np.argmin(counts)))
        raise ValueError(
            f"{name} is zero for every document of query {query}, so none of its "
            "grades would count: leave its rows out, or give them a weight above zero "
            "and the query a sample_weight of 0"
        )
    return canonical


def rescale(numbers: FloatArray) -> tuple[FloatArray, int]:
    """Return numbers divided by a power of two, and its exponent (mostly 0)."""
    # sums of them, and of products of a few, neither overflow nor vanish
    largest = float(np.abs(numbers).max(initial=0.0))
    if largest == 0.0 or SMALLEST <= largest <= LARGEST:
        return numbers, 0
    _, exponent = np.frexp(largest)
    return np.ldexp(numbers, -exponent), int(exponent)


def check_base_scores(scores: object, n_rows: int, name: str) -> FloatArray:
    """Return F_0 of each row, (n_rows,) float64 in the order of the rows."""
    base_score = read_numbers(scores, n_rows, name)
    bad = ~np.isfinite(base_score)
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"{name} must be finite, but is {base_score[row]} at row {row}: replace it"
        )
    return base_score


def check_init_score(
    init_score: ArrayLike | None, queries: QueryGroups, name: str
) -> FloatArray:
    """Return F_0 of each row in canonical order."""
    return queries.sort(check_base_scores(init_score, queries.n_documents, name))


def read_positions(
    positions: ArrayLike, n: int, describe: Callable[[int], str]
) -> IntArray:
    """Return positions, (n,) int64 in the order of the rows, each checked alone."""
    numbers = read_numbers(positions, n, "positions", describe=describe)
    valid = (numbers >= 0) & (numbers < MOST_POSITIONS)
    valid &= numbers == np.floor(np.where(valid, numbers, 0.0))
    required = (
        f"positions must be integers from 0 (shown first) to {MOST_POSITIONS - 1}"
    )
    advice = ": leave rows that were not shown, or far below, out of the log"
    check_each(valid, numbers, describe, required, advice, "g")
    return numbers.astype(np.int64)


def check_positions(
    positions: ArrayLike, queries: QueryGroups, name: str = "positions"
) -> IntArray:
    """Return positions in canonical order, different within a query."""
    shown = read_positions(positions, queries.n_documents, queries.describe_row)
    canonical = queries.sort(shown)
    query = queries.query
    order = np.lexsort((canonical, query))
    same_query = query[order][1:] == query[order][:-1]
    twice = same_query & (canonical[order][1:] == canonical[order][:-1])
    if twice.any():
        a, b = sorted(queries.order[order[np.argmax(twice) :][:2]].tolist())
        raise ValueError(
            f"positions has {shown[a]} twice in one list: {queries.describe_row(a)} "
            f"and row {b}: name each list that was shown (a session) by its own value "
            "of groups"
        )
    return canonical


def check_propensities(
    propensities: ArrayLike, queries: QueryGroups, name: str = "propensities"
) -> FloatArray:
    """Return propensities, in (0, 1], in canonical order."""
    rows = _read_rows(propensities, queries, name)
    valid = (rows > 0) & (rows <= 1)
    required = f"{name} are probabilities of examination, in (0, 1]"
    advice = (
        ": clip estimates, such as numpy.clip(propensities, 0.01, 1), and leave rows "
        "without one out"
    )
    check_each(valid, rows, queries.describe_row, required, advice, "g")
    return queries.sort(rows)


def _read_rows(
    values: object, queries: QueryGroups, name: str, **options: Any
) -> FloatArray:
    """Return one number for each row, in the order of the rows."""
    n, describe = queries.n_documents, queries.describe_row
    return read_numbers(values, n, name, describe=describe, **options)


def _sorted_weights(values: object, queries: QueryGroups, name: str) -> FloatArray:
    """Return a weight for each row, finite and >= 0, in canonical order."""
    n, describe = queries.n_documents, queries.describe_row
    return queries.sort(read_weights(values, n, name, describe=describe))


# --- the columns that `fit` takes beside X, y and groups ------------------------------


class Column(NamedTuple):
    """How a column of the rows is read, and who takes it.

    Attributes
    ----------
    read : callable
        Returns the column in canonical order, given the user's values, the queries of
        the rows, and the name of the argument for messages.
    text : str
        Its paragraph in the docstring of `fit`.
    per_query : bool
        Whether it is constant within a query: then one value of each is returned.
    in_validation : bool
        Whether validation data have it: as an argument of its name and ``_val``.
    in_predict : bool
        Whether a model that was fitted with it needs it to predict.
    is_requested : bool
        Whether metadata routing passes it on by default.
    holds_out : bool
        Whether it only decides which queries are held out together.
    """

    read: Callable[[ArrayLike, QueryGroups, str], NDArray[Any]]
    text: str
    per_query: bool = False
    in_validation: bool = False
    in_predict: bool = False
    is_requested: bool = True
    holds_out: bool = False


def declare(
    read: Callable[[ArrayLike, QueryGroups, str], NDArray[Any]],
    text: str,
    **properties: bool,
) -> Any:
    """Return a field of `RowColumns`."""
    declared = Column(read, inspect.cleandoc(text), **properties)
    return field(default=None, metadata={"column": declared})


T = TypeVar("T")
GROUPS_TEXT = inspect.cleandoc(
    """
    groups : array-like of shape (n_documents,), default=None
        The query of each document: numbers, text, dates, or tuples of these.
        None: all rows are one query, with a :class:`MissingGroupsWarning`; more than
        200 rows are an error.
    """
)


@dataclass(frozen=True, kw_only=True, eq=False)
class RowColumns(Generic[T]):
    """The columns of rows: as they were given to `fit`, or read; None: not given.

    Those that are read are in canonical order, of shape (n_rows,), or (n_queries,) if
    they are constant within a query.
    """

    sample_weight: T | None = declare(
        check_sample_weight,
        """
        sample_weight : array-like of shape (n_documents,), default=None
            Weight of a query, constant within it.  0: as if it were not there; 2: as if
            it were there twice.
        """,
        per_query=True,
        in_validation=True,
        is_requested=False,
    )
    document_weight: T | None = declare(
        check_document_weight,
        r"""
        document_weight : array-like of shape (n_documents,), default=None
            How sure the grade of each document is, w >= 0; None: 1.  A pair weighs the
            product of its documents' weights; its cost, with a swap delta of 1 where
            there is no metric, is
            :math:`w_i w_j |\Delta Z_{ij}| \log(1 + e^{-\sigma (s_i - s_j)})`.  The
            metric, with its ideal list, stays as it is, and all measures but the cost
            of pairs do.  0: no pair of the document counts, but it keeps its place in
            the ranked list and in the ideal one.
        """,
    )
    propensities: T | None = declare(
        check_propensities,
        """
        propensities : array-like of shape (n_documents,), in (0, 1], default=None
            Probability that users examined each document, relative to the first
            position: a pair of documents weighs 1 / propensity of its clicked one.  Not
            the probability that a policy shows a document.  Not together with a
            `position_bias`.
        """,
    )
    positions: T | None = declare(
        check_positions,
        """
        positions : array-like of shape (n_documents,), ints >= 0, default=None
            Where each document was shown, 0 is first; different within a query.
            `groups` names each list that was shown (a session) then.  Required where
            there is a `position_bias`; else they do nothing, and a warning says so.
        """,
    )
    init_score: T | None = declare(
        check_init_score,
        """
        init_score : array-like of shape (n_documents,), default=None
            F_0 of each document, in place of the model `init`: scores computed
            elsewhere.  `predict`, `rank` and `score` need those of their documents
            then.
        """,
        in_validation=True,
        in_predict=True,
    )
    users: T | None = declare(
        number_users,
        """
        users : array-like of shape (n_documents,), default=None
            The user (customer, session, device) of each query, constant within it:
            numbers, text, dates, or tuples of these.  Where early stopping holds
            queries out, it holds out `validation_fraction` of the users, with all their
            queries.
        """,
        per_query=True,
        holds_out=True,
    )
    order: T | None = declare(
        number_dates,
        """
        order : array-like of shape (n_documents,), default=None
            The date of each query, constant within it: dates, times, numbers or tuples
            of these, smaller is earlier.  Where early stopping holds queries out, these
            are the latest, with all that have their date.  Not together with `users`.
        """,
        per_query=True,
        holds_out=True,
    )

    def given(self) -> dict[str, T]:
        """Return the columns that there are, by name."""
        columns = {name: getattr(self, name) for name in COLUMNS}
        return {name: values for name, values in columns.items() if values is not None}

    def read(self: GivenColumns, queries: QueryGroups, suffix: str = "") -> ReadColumns:
        """Read and check the columns; `suffix` comes after their names in messages."""
        check_one_way(self.users, self.order)
        return RowColumns(
            **{
                name: COLUMNS[name].read(values, queries, f"{name}{suffix}")
                for name, values in self.given().items()
            }
        )

    def select(self: ReadColumns, rows: Selection, queries: Selection) -> ReadColumns:
        """Return columns that were read, at some rows and some queries."""
        return RowColumns(
            **{
                name: values[queries if COLUMNS[name].per_query else rows]
                for name, values in self.given().items()
            }
        )

    def by_row(self: ReadColumns, sizes: IntArray) -> dict[str, NDArray[Any]]:
        """Return columns that were read, all with one value for each row, by name."""
        return {
            name: np.repeat(values, sizes) if COLUMNS[name].per_query else values
            for name, values in self.given().items()
        }


Selection: TypeAlias = NDArray[np.intp] | NDArray[np.bool_] | slice
GivenColumns: TypeAlias = RowColumns[ArrayLike]
ReadColumns: TypeAlias = RowColumns[NDArray[Any]]
COLUMNS: dict[str, Column] = {
    declared.name: declared.metadata["column"] for declared in fields(RowColumns)
}
# those that only decide which queries are held out together
HELD_OUT_BY = [name for name, column in COLUMNS.items() if column.holds_out]
TEXTS = {name: column.text for name, column in COLUMNS.items()}
TEXTS |= {"groups": GROUPS_TEXT, "judgements": PAIRS_TEXT}
# of estimators that measure others by folds
TEXTS["folds"] = inspect.cleandoc(
    """
    users : array-like of shape (n_documents,), default=None
        The user (customer, session, device) of each query, constant within it: numbers,
        text, dates, or tuples of these.  All queries of a user are held out together.
    order : array-like of shape (n_documents,), default=None
        The date of each query, constant within it: dates, times, numbers or tuples of
        these, smaller is earlier.  Folds go forward in time, those of `cv` or, of a
        number, of a :class:`~sklearn_ltr.model_selection.GroupTimeSeriesSplit`: what is
        held out is later than what is learned from, queries of one date are on one
        side, and the earliest are never held out.  Not together with `users`.
    """
)


F = TypeVar("F", bound=Callable[..., Any])


def describe_columns(method: F) -> F:
    """Replace ``{groups}``, ``{judgements}`` and columns by their text."""
    method.__doc__ = fill_in(method.__doc__ or "", TEXTS)
    return method


def fit_requests(*, holds_out: bool = True) -> dict[str, bool]:
    """Return the columns that every ranker's `fit` requests from metadata routing."""
    return {
        name: True
        for name, column in COLUMNS.items()
        if column.is_requested and not column.in_predict
        if holds_out or not column.holds_out
    }
