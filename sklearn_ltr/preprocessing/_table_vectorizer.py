"""A transformer of any table into the numbers that networks need."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix, hstack, issparse
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from sklearn_ltr._core.data import RowColumns
from sklearn_ltr._core.data.categories import FeatureCategories, replace_columns
from sklearn_ltr._core.data.features import (
    DATED,
    DURATIONS,
    CodedColumn,
    NumberColumn,
    as_table,
    check_columns,
    column_kinds,
    find_features,
    get_column,
    holds_values,
    is_arrow,
    kind_of_value,
    read_feature_table,
)
from sklearn_ltr._core.data.rows import n_rows
from sklearn_ltr._core.data.tables import Matrix
from sklearn_ltr._core.estimators.attributes import FEATURES, Attribute, Attributes
from sklearn_ltr._core.estimators.base import Estimator, refit
from sklearn_ltr._core.parameters import integer, read_parameters
from sklearn_ltr._core.ranking.reading import LabelChoice, read_queries, read_targets
from sklearn_ltr._core.saving import saved_part
from sklearn_ltr._core.trees.categories import (
    N_FOLDS,
    CategorySums,
    RowTargets,
    targets_of,
)
from sklearn_ltr._core.typing import FeaturesLike, FloatArray, IdsLike, MatrixLike
from sklearn_ltr.preprocessing._category_pairs import SMOOTHING
from sklearn_ltr.preprocessing._smooth_clip import SmoothClipScaler

__all__ = ["TableVectorizer"]

DAY = np.timedelta64(1, "D") / np.timedelta64(1, "us")  # in microseconds
FARTHEST = 1e8  # days that fit into microseconds of 64 bits
# What columns may hold; of these, what becomes days
HELD = {
    "number": "numbers", "text": "text", "date": "dates without a time zone",
    "zoned date": "dates with a time zone", "duration": "durations",
}  # fmt: skip
IN_DAYS = ("date", "zoned date", "duration")
INDICATOR = "missingindicator_"  # as SimpleImputer names such columns
NOTHING: Mapping[int, FloatArray] = MappingProxyType({})


@dataclass(frozen=True, kw_only=True)
class VectorizerParameters:
    """The parameters of TableVectorizer, which documents them."""

    cardinality_threshold: Annotated[int, integer(1)]
    categorical_features: FeaturesLike


@saved_part
@dataclass(frozen=True)
class CategoryTable:
    """The numbers that stand for the categories of a column."""

    feature: int
    categories: FloatArray  # (n_categories,), ascending
    numbers: FloatArray  # (n_categories + 1, n_columns): last those of missing ones
    is_one_hot: bool

    def places(self, column: FloatArray) -> NDArray[np.intp]:
        """Return the row of `numbers` of each value."""
        place = np.searchsorted(self.categories, column)
        known = np.append(self.categories, np.nan)[place] == column
        return np.where(known, place, len(self.categories))


class TableVectorizer(TransformerMixin, Estimator):
    r"""Turn a table of any columns into numbers of about unit size, for networks.

    What each column becomes is learned from the training rows:

    - **Numbers** and booleans are scaled by :class:`SmoothClipScaler`, whatever their
      tails.  A missing value becomes 0, the median, and a column that had some gets a
      second column that says where.
    - **Dates** and durations are days, and then numbers.  Dates are those of UTC if
      they have a time zone, which must be so in all rows of all tables, or in none.
    - **Categories**, and text, have a column of 0 and 1 each where there are at most
      `cardinality_threshold` of them.  Missing values have a column as well, if there
      were any.
    - **More categories** than that become one number: with :math:`t_i` the grade of
      document i minus the mean of its query, the mean

      .. math:: \frac{\sum_{i \in c} t_i}{10 + n_c}

      of the category's n documents, in units of the standard deviation of these means
      over all rows.  `fit_transform`, and so a Pipeline, computes it for the training
      rows from other queries only, in five folds: else a network would learn from it
      the grades themselves.

    A category that was not seen in training is a missing value, as for trees.

    Parameters
    ----------
    cardinality_threshold : int of at least 1, default=40
        Columns of at most this many categories are one-hot encoded.
    categorical_features : array-like, "from_dtype" or None, default="from_dtype"
        The columns that hold categories, as for :class:`~sklearn_ltr.LambdaMARTRanker`:
        names, indices or a mask.  "from_dtype": the columns of a categorical dtype, and
        those of text.

    Attributes
    ----------
    kinds_ : ndarray of shape (n_features,), object
        What each column was taken for: "number", "date", "zoned date" (with a time
        zone), "duration", "one-hot" or "target".
    scaler_ : SmoothClipScaler or None
        Of the columns of numbers and dates; None without such columns.
    n_features_in_ : int
        Number of columns seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if X is a DataFrame.

    See Also
    --------
    SmoothClipScaler : For numbers alone.
    sklearn.compose.ColumnTransformer : Other encodings of columns that you name.

    Notes
    -----
    A sparse X stays sparse: its numbers are scaled but not centred, and it has no
    categories.  Trees take a table as it is, and need no such transformer.

    In ONNX, X are numbers: a date is in days since January 1, 1970, a category the code
    of :func:`~sklearn_ltr.export.to_onnx`.

    References
    ----------
    D. Micci-Barreca, "A preprocessing scheme for high-cardinality categorical
    attributes", SIGKDD Explorations 3, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from sklearn_ltr.preprocessing import TableVectorizer
    >>> X = pd.DataFrame(
    ...     {"price": [5, np.nan, 7, 9, 9000], "shop": ["b", "a", "b", None, "a"]}
    ... )
    >>> vectorizer = TableVectorizer().fit(X)
    >>> vectorizer.get_feature_names_out().tolist()
    ['price', 'missingindicator_price', 'shop_a', 'shop_b', 'missingindicator_shop']
    >>> vectorizer.transform(X).round(2)
    array([[-0.6 ,  0.  ,  0.  ,  1.  ,  0.  ],
           [ 0.  ,  1.  ,  1.  ,  0.  ,  0.  ],
           [-0.21,  0.  ,  0.  ,  1.  ,  0.  ],
           [ 0.21,  0.  ,  0.  ,  0.  ,  1.  ],
           [ 1.88,  0.  ,  1.  ,  0.  ,  0.  ]])
    """

    _attributes: ClassVar[Attributes] = {
        **FEATURES,
        "kinds_": Attribute("(n_features,)"),
        "scaler_": Attribute(),
        "_categories": Attribute(),
        "_tables": Attribute(),
        "_numbers": Attribute(),
        "_indicated": Attribute(),
    }

    # requested by default, so that users need not call set_fit_request
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"groups": True}

    def __init__(
        self,
        *,
        cardinality_threshold: int = 40,
        categorical_features: FeaturesLike = "from_dtype",
    ) -> None:
        self.cardinality_threshold = cardinality_threshold
        self.categorical_features = categorical_features

    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        *,
        groups: IdsLike | None = None,
    ) -> Self:
        """Learn what each column becomes.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_documents, n_features)
            Numbers, finite or NaN; in a DataFrame categories, text and dates, too.
        y : array-like of shape (n_documents,) or (n_documents, n_labels), default=None
            Relevance grades; of several labels, their mean counts.  Needed for columns
            of more than `cardinality_threshold` categories only.
        groups : array-like of shape (n_documents,), default=None
            The query of each document; needed where y is.

        Returns
        -------
        self : TableVectorizer

        Raises
        ------
        ValueError, TypeError
            For infinite numbers, a sparse X with categories, a column of many
            categories without y, or invalid grades or groups.  The transformer is then
            unchanged.
        """
        with refit(self) as model:
            model._learn(X, y, groups)
        return self

    def fit_transform(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        *,
        groups: IdsLike | None = None,
    ) -> FloatArray | csr_matrix:
        """Learn what each column becomes, and transform the training rows.

        Means of grades, which stand for one of many categories, are over the queries of
        other folds, so this is not ``fit(X, y, groups=groups).transform(X)`` for them.

        Parameters
        ----------
        X, y, groups
            As in `fit`.

        Returns
        -------
        X : ndarray or CSR matrix of shape (n_documents, n_columns), float64

        Raises
        ------
        ValueError, TypeError
            As `fit`.
        """
        with refit(self) as model:
            table, trained = model._learn(X, y, groups)
            columns = model._columns(table, trained)
        return columns

    def transform(self, X: MatrixLike) -> FloatArray | csr_matrix:
        """Turn rows into numbers.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_documents, n_features)
            With the columns of `fit`.

        Returns
        -------
        X : ndarray or CSR matrix of shape (n_documents, n_columns), float64

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError, TypeError
            For other columns than those of `fit`, other kinds of values in them, or
            infinite numbers; for a sparse X if X of `fit` was dense.
        """
        check_is_fitted(self)
        table = as_table(X) if is_arrow(X) else X
        kinds = column_kinds(table)
        if {*kinds, *self.kinds_} != {"number"}:
            check_columns(self, table, "X")
            table = with_days(table, self._check_kinds(table, kinds))
        table = self._categories.encode(table, "X")
        return self._columns(read_feature_table(self, table, reset=False, name="X"))

    def _check_kinds(self, X: Any, kinds: list[str]) -> list[int]:
        """Return the columns of dates; all must hold what they held, or nothing."""
        dated, table = [], X if issparse(X) else as_table(X)
        for j in self._numbers.tolist():
            was, now = self.kinds_[j], kinds[j]
            if was in IN_DAYS or now in IN_DAYS:
                dated.append(j)
            if now != was and (issparse(X) or holds_values(get_column(table, j, "X"))):
                raise ValueError(
                    f"{self._label(j)} holds {in_words(now)}, but held {in_words(was)} "
                    f"when the transformer was fitted: give {in_words(was)}, or fit "
                    "again"
                )
        return dated

    def _label(self, feature: int) -> str:
        """Return a column as messages name it."""
        names = getattr(self, "feature_names_in_", range(self.n_features_in_))
        return f"X in column {names[feature]!r}"

    def _learn(
        self, X: MatrixLike, y: ArrayLike | None, groups: IdsLike | None
    ) -> tuple[Any, dict[int, FloatArray]]:
        """Learn from the rows; return X as numbers, and columns for training rows."""
        p = read_parameters(VectorizerParameters, self)
        X = as_table(X) if is_arrow(X) else X
        kinds = np.array(column_kinds(X), dtype=object)
        given = p.categorical_features
        features = find_features(X, given, "X")
        if isinstance(given, str) and given == "from_dtype":
            features = np.union1d(features, np.flatnonzero(kinds == "text"))
        if len(kinds) > 0:
            check_columns(self, X, "X", reset=True)
        others = np.setdiff1d(np.flatnonzero(kinds != "number"), features)
        dated = others[np.isin(kinds[others], IN_DAYS)]
        for j in np.setdiff1d(others, dated).tolist():
            advice = f"give {', '.join(HELD.values())}"
            if kinds[j] == "text":
                advice = "name it in categorical_features, or give 'from_dtype'"
            raise ValueError(f"{self._label(j)} holds {in_words(kinds[j])}: {advice}")
        X = with_days(X, dated.tolist())
        self._categories = FeatureCategories.learn(X, features)
        table = self._categories.encode(X, "X")
        table = read_feature_table(self, table, reset=True, name="X")
        n_features = table.shape[1]

        self.kinds_ = np.full(n_features, "number", dtype=object)
        self.kinds_[dated] = kinds[dated]
        features = features.tolist()
        self._tables, trained, targets = [], {}, None
        for j in features:
            column = table[:, j]
            categories = np.unique(column[~np.isnan(column)])
            if len(categories) <= p.cardinality_threshold:
                self.kinds_[j] = "one-hot"
                self._tables.append(one_hot(j, categories, column))
                continue
            self.kinds_[j] = "target"
            if targets is None:
                targets = self._read_targets(j, len(categories), y, groups, table)
            encoded, trained[j] = mean_targets(j, categories, column, targets)
            self._tables.append(encoded)
        self._numbers = np.setdiff1d(np.arange(n_features), features)
        numbers = table[:, self._numbers]
        self.scaler_ = SmoothClipScaler().fit(numbers) if numbers.shape[1] else None
        n_missing = np.asarray(missing_in(numbers).sum(axis=0)).ravel()
        self._indicated = np.flatnonzero((n_missing > 0) & (n_missing < table.shape[0]))
        return table, trained

    def _read_targets(
        self,
        feature: int,
        n_categories: int,
        y: ArrayLike | None,
        groups: IdsLike | None,
        table: FloatArray,
    ) -> RowTargets:
        """Return the targets of the rows, which a column of many categories needs."""
        if y is None:
            raise ValueError(
                f"{self._label(feature)} has {n_categories} categories, more than"
                f" cardinality_threshold={self.cardinality_threshold}, so they are "
                "encoded by the mean of their grades, but y is None: give y and "
                "groups, or a higher cardinality_threshold"
            )
        queries = read_queries(groups, n_rows(table), X=table)
        data = read_targets(y, queries, RowColumns(), labels=LabelChoice(True, None))
        return RowTargets(*map(queries.unsort, targets_of(data)))

    def _columns(
        self, table: Any, trained: Mapping[int, FloatArray] = NOTHING
    ) -> FloatArray | csr_matrix:
        """Return the columns of rows; some are `trained` if these are training rows."""
        has_others = len(self._numbers) < table.shape[1]
        numbers = table[:, self._numbers] if has_others else table
        columns = []
        if self.scaler_ is not None:
            scaled: Matrix = self.scaler_._scaled(numbers)
            values = scaled.data if issparse(scaled) else scaled
            values[np.isnan(values)] = 0.0
            columns.append(scaled)
        if len(self._indicated) > 0:
            missing = missing_in(numbers[:, self._indicated])
            columns.append(missing.astype(np.float64))
        for each in self._tables:
            encoded = trained.get(each.feature)
            if encoded is None:
                encoded = each.numbers[each.places(table[:, each.feature])]
            columns.append(encoded)
        if len(columns) == 1:
            return columns[0]
        return csr_matrix(hstack(columns)) if issparse(table) else np.hstack(columns)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the columns that `transform` returns.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns of X, as at `fit`; None: these, or x0, x1, ...

        Returns
        -------
        names : ndarray of shape (n_columns,), object
            The columns of numbers, then ``"missingindicator_price"`` and the like, then
            for each column of categories ``"shop_a"``, ``"shop_b"``, ..., or its name.
            Where two would be equal, their parts are in quotes, as in
            ``'"shop"_"a"'``; the name of a column of X stays as it is.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            For other names than those of `fit`, or two equal ones.
        """
        check_is_fitted(self)
        names = OneToOneFeatureMixin.get_feature_names_out(self, input_features)
        numbers = names[self._numbers]
        indicator = f"{INDICATOR}{{}}"
        made: list[tuple[str, ...]] = [("{}", name) for name in numbers]
        made += [(indicator, name) for name in numbers[self._indicated]]
        text = dict(zip(self._categories.feature, self._categories.text, strict=True))
        for each in self._tables:
            name, known = names[each.feature], text[each.feature]
            if not each.is_one_hot:
                made.append(("{}", name))
                continue
            for category in each.categories.tolist():
                number = int(category) if category.is_integer() else category
                label = str(known[number] if len(known) else number)
                made.append(("{}_{}", name, label))
            if each.numbers.shape[1] > len(each.categories):
                made.append((indicator, name))
        found = [form.format(*of) for form, *of in made]
        n_of = Counter(found)
        for place, (form, *of) in enumerate(made):
            if n_of[found[place]] > 1 and form != "{}":
                quoted = (json.dumps(part, ensure_ascii=False) for part in of)
                found[place] = form.format(*quoted)
        most = Counter(found).most_common(1)
        if most and most[0][1] > 1:
            raise ValueError(
                f"two columns of the output would have the name {most[0][0]!r}: give "
                "the columns of X other names, each its own"
            )
        return np.array(found, dtype=object)

    def __sklearn_tags__(self) -> Tags:
        """Return the tags: X may be sparse, and have missing values and categories."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        tags.input_tags.categorical = tags.input_tags.string = True
        return tags


# --- categories -------------------------------------------------------------------


def one_hot(feature: int, categories: FloatArray, column: FloatArray) -> CategoryTable:
    """Return a column for each category, and one for missing ones if there are any."""
    n_columns = len(categories) + int(np.isnan(column).any())
    numbers = np.eye(len(categories) + 1, n_columns)
    return CategoryTable(feature, categories, numbers, True)


def mean_targets(
    feature: int, categories: FloatArray, column: FloatArray, targets: RowTargets
) -> tuple[CategoryTable, FloatArray]:
    """Return the mean target of each category; of training rows, over other folds."""
    numbers = np.zeros((len(categories) + 1, 1))
    table = CategoryTable(feature, categories, numbers, False)
    place = table.places(column)
    sums = CategorySums.add_up(place.astype(np.float64), targets)
    found, n_of = sums.value.astype(np.intp), sums.n_rows.sum(axis=0)
    means = sums.means(SMOOTHING)
    size = np.sqrt(n_of @ means**2 / n_of.sum()) or 1.0
    numbers[found, 0] = means / size
    elsewhere = np.zeros((N_FOLDS, len(numbers)))
    elsewhere[:, found] = np.nan_to_num(sums.means_elsewhere(SMOOTHING)) / size
    return table, elsewhere[targets.fold, place][:, np.newaxis]


# --- tables -----------------------------------------------------------------------


def missing_in(table: Matrix) -> Matrix:
    """Return which values of a table are missing."""
    if not issparse(table):
        return np.isnan(table)
    marked = table.copy()
    marked.data = np.isnan(table.data)
    marked.eliminate_zeros()
    return marked


def in_words(kind: str) -> str:
    """Return what a column of a kind holds."""
    return HELD.get(kind, f"values of the kind {kind}")


def with_days(X: Any, features: list[int]) -> Any:
    """Return a table with days, as numbers, in its columns of dates and durations."""
    if not features:
        return X
    table = as_table(X)
    return replace_columns(table, {j: days(table, j) for j in features})


def days(table: Any, feature: int) -> FloatArray:
    """Return a column of dates as days since January 1, 1970, or durations as days."""
    column = table.iloc[:, feature] if hasattr(table, "iloc") else table[:, feature]
    name = str(column.dtype).lower()
    if not name.startswith(DATED):
        values = times_of_objects(get_column(table, feature, "X"))
    elif hasattr(column, "iloc"):  # of pandas, whose objects may be missing
        unit = re.search(r"\[([mun]?s)\b", name)
        kind = "timedelta64" if name.startswith(DURATIONS) else "datetime64"
        missing = np.array("NaT", dtype=f"{kind}[{unit[1] if unit else 's'}]")
        values = column.to_numpy(dtype=missing.dtype, na_value=missing[()])
    else:
        values = np.asarray(column)
    kind = values.dtype.kind
    found = values.astype(f"{kind}8[s]").astype(np.int64) / 86_400
    is_near = np.abs(found) < FARTHEST
    found[is_near] = values[is_near].astype(f"{kind}8[us]").astype(np.int64) / DAY
    found[np.isnat(values)] = np.nan
    return np.asarray(found)


def times_of_objects(column: NumberColumn | CodedColumn) -> NDArray[Any]:
    """Return a column of dates or durations of Python, dates as those of UTC."""
    if isinstance(column, NumberColumn):  # without a value
        return np.full(len(column.values), "NaT", dtype="datetime64[us]")
    kinds = {kind_of_value(label) for label in column.labels}
    labels = column.labels
    if kinds == {"zoned date"}:
        labels = [label.astimezone(UTC).replace(tzinfo=None) for label in labels]
    dtype = "timedelta64[us]" if kinds == {"duration"} else "datetime64[us]"
    return np.array([*labels, "NaT"], dtype=dtype)[column.codes]
