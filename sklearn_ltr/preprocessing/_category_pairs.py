"""A transformer that adds columns for combinations of categories."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from itertools import combinations
from numbers import Integral
from typing import Annotated, Any, ClassVar, Self, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags, check_array
from sklearn.utils.validation import check_is_fitted

from sklearn_ltr._core.caller import warn_caller
from sklearn_ltr._core.data import RowColumns
from sklearn_ltr._core.data.categories import check_codes, holds_text, positions
from sklearn_ltr._core.data.features import (
    CodedColumn,
    NumberColumn,
    as_table,
    check_columns,
    find_features,
    get_column,
    is_arrow,
    is_frame,
    is_lazy,
    sparse_message,
)
from sklearn_ltr._core.data.rows import n_rows
from sklearn_ltr._core.data.training_data import TrainingData, without_zero_weights
from sklearn_ltr._core.estimators.attributes import FEATURES, Attribute, Attributes
from sklearn_ltr._core.estimators.base import Estimator, refit
from sklearn_ltr._core.parameters import read_parameters, real
from sklearn_ltr._core.ranking.reading import check_y_given, read_queries, read_targets
from sklearn_ltr._core.trees.categories import (
    CategorySums,
    RowTargets,
    exact,
    targets_of,
)
from sklearn_ltr._core.typing import FloatArray, IdsLike, MatrixLike

__all__ = ["CategoryPairs"]

D = TypeVar("D", bound=MatrixLike)

SMOOTHING = 10.0  # rows of the mean target that each category has besides its own


@dataclass(frozen=True, kw_only=True)
class PairParameters:
    """The parameters of CategoryPairs, which documents them."""

    min_gain: Annotated[float, real(0, 1, "left")]
    categorical_features: Any


class CategoryPairs(TransformerMixin, Estimator):
    r"""Add a categorical column for each useful pair of categorical columns.

    One customer likes a brand that another does not.  Trees learn this from the two
    columns if these have few categories.  If they have many, a ranker learns it better
    from the combinations, given as categories.  This transformer chooses pairs of
    columns by the grades of the training queries and adds a column for each.

    Let :math:`t_i` be the grade of document i minus the mean of its query.  Three steps
    predict it: by the mean of the category in one column, the rest by that in the other
    column, and the rest of this by that of the combination.  Means are over other
    queries (five folds) and ten further documents of mean 0.  The gain of a pair is the
    part of the squared grades that the combinations explain,

    .. math::

        G = \frac{\sum_i w_i r_i^2 - \sum_i w_i {r'_i}^2}{\sum_i w_i t_i^2},

    with w the weight of the query, r what the two columns leave and r' what the
    combinations leave.

    Parameters
    ----------
    min_gain : float in [0, 1), default=0.001
        Pairs of a larger gain are added.  0 adds all that explain anything.
    categorical_features : array-like, "from_dtype" or None, default="from_dtype"
        The columns that hold categories, as for :class:`~sklearn_ltr.LambdaMARTRanker`:
        names, indices or a mask.  "from_dtype": the columns of a DataFrame that have a
        categorical dtype.  Name the columns if X is an array, or if the dtypes of the
        frame do not say so.

    Attributes
    ----------
    pairs_ : list of (str, str)
        The pairs of columns that are added, in the order of the columns of X.  The
        columns of an array are named x0, x1, ...
    gains_ : dict of (str, str) to float
        The gain of every pair, added or not, the largest first.
    n_features_in_ : int
        Number of columns seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if X is a DataFrame.

    Notes
    -----
    The time grows with the number of pairs: a hundred columns make 4,950.

    The combinations that occur in a DataFrame are not stored: the ranker knows those
    that it was fitted with, and takes others for missing values.

    References
    ----------
    L. Prokhorenkova et al., "CatBoost: unbiased boosting with categorical features",
    NeurIPS 2018, section "Feature combinations" of the supplement: combinations that
    are chosen while trees grow.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from sklearn_ltr.preprocessing import CategoryPairs
    >>> rng = np.random.default_rng(0)
    >>> customer, brand, colour = rng.integers(20, size=(3, 4000))
    >>> y = rng.integers(2, size=(20, 20))[customer, brand]
    >>> X = pd.DataFrame({"customer": customer, "brand": brand, "colour": colour})
    >>> X = X.astype("category")
    >>> pairs = CategoryPairs().fit(X, y, groups=np.arange(4000) // 10)
    >>> pairs.pairs_
    [('customer', 'brand')]
    >>> pairs.transform(X).columns.tolist()
    ['customer', 'brand', 'colour', 'customer and brand']
    """

    _attributes: ClassVar[Attributes] = {
        **FEATURES,
        "pairs_": Attribute(),
        "gains_": Attribute(),
        "_holds_text": Attribute(),
        "_combinations": Attribute(when="X was an array"),
    }

    # requested by default, so that users need not call set_fit_request
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"groups": True}

    def __init__(
        self, *, min_gain: float = 0.001, categorical_features: Any = "from_dtype"
    ) -> None:
        self.min_gain = min_gain
        self.categorical_features = categorical_features

    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        *,
        groups: IdsLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Choose the pairs.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_documents, n_features)
            Of pandas, polars or Arrow, or a dense array.  The categories are text or
            numbers, in a column without a categorical dtype whole numbers from 0 on.
        y : array-like of shape (n_documents,)
            Relevance grades, finite and >= 0.
        groups : array-like of shape (n_documents,), default=None
            The query of each document: numbers, text, dates, or tuples of these.  None:
            all rows are one query, with a :class:`MissingGroupsWarning`; more than 200
            rows are an error.
        sample_weight : array-like of shape (n_documents,), default=None
            Weight of a query, constant within it.  0: as if it were not there.

        Returns
        -------
        self : CategoryPairs

        Raises
        ------
        ValueError, TypeError
            For a sparse X, two columns of one name, a column named like a pair, invalid
            grades, groups or weights, or no query of different grades.  The transformer
            is then unchanged.

        Warns
        -----
        UserWarning
            If X has fewer than two columns of categories: there is no pair.
        """
        with refit(self) as model:
            p = read_parameters(PairParameters, model)
            table = read_table(model, X, reset=True)
            check_y_given(y)
            queries = read_queries(groups, n_rows(table), X=X)
            data = read_targets(y, queries, RowColumns(sample_weight=sample_weight))
            data = without_zero_weights(data, "sample_weight")
            columns = find_categories(table, p.categorical_features)
            gains = gains_of_pairs(data, columns) if len(columns) > 1 else {}
            model.pairs_ = [pair for pair, gain in gains.items() if gain > p.min_gain]
            names = column_names(table)
            taken = [name for name in map(column_name, gains) if name in names]
            if taken:
                raise ValueError(
                    f"X has a column {taken[0]!r}, which is the name of a pair of its "
                    "columns: give it another name"
                )
            largest_first = sorted(gains.items(), key=lambda item: -item[1])
            model.gains_ = dict(largest_first)
            model._holds_text = {n: holds_text(c) for n, c in columns.items()}
            if not is_frame(table):
                known = {
                    name: column._replace(codes=column.codes[data.rows])
                    for name, column in columns.items()
                }
                model._combinations = {
                    (one, other): np.array(
                        sorted(combine(known[one], known[other]).labels), dtype=np.str_
                    )
                    for one, other in model.pairs_
                }
        return self

    def transform(self, X: D) -> D:
        """Add the columns of the pairs.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_documents, n_features)
            With the columns of `fit`; a DataFrame if X of `fit` was one.

        Returns
        -------
        X : DataFrame or ndarray of shape (n_documents, n_features + n_pairs)
            A DataFrame of polars if X is one, of pandas for others.  Columns of the
            pairs have a categorical dtype and names such as ``"customer and brand"``; a
            name of which "and" is a word is put in quotes, so that no two pairs have
            the same name.  The categories are text, such as ``"Ann & Acme"``.  An
            ampersand of a category is doubled, so that no two combinations have the
            same text.  A combination with a missing value is missing.

            An ndarray for arrays.  Columns of the pairs hold the number of the
            combination among those of `fit`, NaN for others: name them in the
            `categorical_features` of the ranker.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError, TypeError
            For an X that has other columns than at `fit`, numbers in a column that held
            text or the reverse, or an array where `fit` had a DataFrame or the reverse.
        """
        check_is_fitted(self)
        was_array = hasattr(self, "_combinations")
        if self.pairs_ and (is_frame(X) or is_arrow(X)) == was_array:
            raise TypeError(
                f"X must be {'an array' if was_array else 'a DataFrame'}, as it was "
                f"when the pairs were chosen, got {type(X).__name__}"
            )
        table = read_table(self, X, reset=False)
        names = column_names(table)
        single = {
            name: read_column(table, names.index(name), self._holds_text[name])
            for name in dict.fromkeys(name for pair in self.pairs_ for name in pair)
        }
        columns = {
            (one, other): combine(single[one], single[other])
            for one, other in self.pairs_
        }
        if is_frame(table):
            return cast(D, with_columns(table, columns))
        numbers = [
            positions(column, self._combinations[pair])
            for pair, column in columns.items()
        ]
        return cast(D, np.column_stack([table, *numbers]))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the columns that `transform` returns.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns of X, as at `fit`; None: these, or x0, x1, ...

        Returns
        -------
        names : ndarray of shape (n_features + n_pairs,), object

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            For other names than those of `fit`.
        """
        check_is_fitted(self)
        try:
            names = OneToOneFeatureMixin.get_feature_names_out(self, input_features)
        except ValueError as error:
            raise ValueError(
                f"input_features must be the columns of fit: {error}"
            ) from None
        known = getattr(self, "feature_names_in_", numbered(self.n_features_in_))
        place = {name: feature for feature, name in enumerate(known)}
        pairs = [
            column_name((names[place[one]], names[place[other]]))
            for one, other in self.pairs_
        ]
        return np.array([*names, *pairs], dtype=object)

    def __sklearn_tags__(self) -> Tags:
        """Return the tags: y is required, and X holds categories."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.categorical = tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        return tags


def column_name(pair: tuple[str, str]) -> str:
    """Return the name of the column of a pair, which no other pair has."""
    return " and ".join(
        json.dumps(name, ensure_ascii=False)
        if name.startswith('"') or " and " in f" {name} "
        else name
        for name in pair
    )


# --- which pairs ------------------------------------------------------------------


def gains_of_pairs(
    data: TrainingData, categories: dict[str, CodedColumn]
) -> dict[tuple[str, str], float]:
    """Return the gain of every pair, in the order of the columns."""
    targets = targets_of(data)
    total = weighted_square(targets)
    if not total > 0:
        raise ValueError(
            f"y has no query with two different grades{data.in_words}: no pair can "
            "explain them: check y and groups"
        )
    columns = {
        name: np.where(column.codes < 0, np.nan, column.codes)[data.rows]
        for name, column in categories.items()
    }
    gains = {}
    left_by = {name: unexplained(targets, column) for name, column in columns.items()}
    for one, other in combinations(columns, 2):
        left = unexplained(left_by[one], columns[other])
        n_others = np.nanmax(columns[other], initial=0.0) + 1.0
        left_by_pair = unexplained(left, columns[one] * n_others + columns[other])
        gain = weighted_square(left) - weighted_square(left_by_pair)
        gains[one, other] = gain / total
    return gains


def unexplained(targets: RowTargets, category: FloatArray) -> RowTargets:
    """Subtract the mean that the category of each row has in other folds."""
    sums = CategorySums.add_up(category, targets)
    known = np.flatnonzero(~np.isnan(category))
    place = np.searchsorted(sums.value, category[known])
    means = np.zeros(len(category))
    means[known] = np.nan_to_num(
        sums.means_elsewhere(SMOOTHING)[targets.fold[known], place]
    )
    left = targets.weighted - targets.weight * means
    return targets._replace(weighted=exact_sum(left))


def weighted_square(targets: RowTargets) -> float:
    """Return the sum of weight times squared target."""
    has_weight = targets.weight > 0  # tiny weights beside large ones are rounded to 0
    target = targets.weighted[has_weight] / targets.weight[has_weight]
    return float(exact_sum(targets.weighted[has_weight] * target).sum())


def exact_sum(values: FloatArray) -> FloatArray:
    """Round values so that their sum does not depend on their order."""
    return exact(values, float(np.abs(values).max(initial=0.0)), len(values))


# --- tables -----------------------------------------------------------------------


def read_table(transformer: Any, X: Any, *, reset: bool) -> Any:
    """Return X as a frame of pandas or polars, or an array, with the columns of fit."""
    if is_lazy(X):
        raise TypeError(
            f"X must be a DataFrame or an array, got {type(X).__name__}: give its "
            "collect()"
        )
    if issparse(X):
        raise ValueError(sparse_message("X"))
    table = as_table(X)
    if is_frame(table):
        if any(isinstance(name, str) for name in table.columns):
            check_named(table)
    else:
        if table.dtype.kind == "U":  # beside which numbers would become text
            table = table.astype(object)
        try:
            table = check_array(
                table,
                dtype=None,
                ensure_all_finite=False,
                ensure_min_samples=int(reset),
                estimator=transformer,
            )
        except (TypeError, ValueError) as error:
            raise type(error)(f"X: {error}") from error
    check_columns(transformer, table, "X", reset=reset)
    return table


def check_named(table: Any) -> None:
    """Raise a ValueError unless the columns of a frame have names, each another."""
    unnamed = [name for name in table.columns if not isinstance(name, str)]
    if unnamed:
        raise ValueError(
            f"X has a column named {unnamed[0]!r}, which is no text: pairs are named "
            "after their columns; X.columns.astype(str) makes text of numbers"
        )
    names = column_names(table)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(
            f"X has two columns {twice!r}, and pairs are named after their columns: "
            "give one of them another name"
        )


def column_names(table: Any) -> list[str]:
    """Return the names of the columns of a frame or an array."""
    return list(table.columns) if is_frame(table) else numbered(table.shape[1])


def numbered(n_features: int) -> list[str]:
    """Return the names of columns without names, those of scikit-learn."""
    return [f"x{feature}" for feature in range(n_features)]


def find_categories(table: Any, given: Any) -> dict[str, CodedColumn]:
    """Return the columns that hold categories, by name."""
    found, names = find_features(table, given, "X").tolist(), column_names(table)
    columns = {names[feature]: read_column(table, feature) for feature in found}
    if len(columns) > 1 and is_frame(table):
        check_named(table)
    if len(columns) < 2:
        warn_caller(
            "X should have two columns or more that hold categories, to make pairs of, "
            f"got {len(columns)} ({list(columns)!r}), so no column is added: convert "
            "columns by astype('category'), or name them by categorical_features"
        )
    return columns


def read_column(table: Any, feature: int, was_text: bool | None = None) -> CodedColumn:
    """Return the categories of a column; an error unless text is where it was."""
    column = get_column(table, feature, "X")
    if isinstance(column, NumberColumn):
        check_codes(column)
        is_known = ~np.isnan(column.values)
        labels, known = np.unique(column.values[is_known], return_inverse=True)
        codes = np.full(len(is_known), -1, dtype=np.intp)
        codes[is_known] = known
        column = CodedColumn(column.name, labels.tolist(), codes, False)
    is_text = holds_text(column)
    if was_text not in (None, is_text) and (column.codes >= 0).any():
        had, has = ("text", "numbers") if was_text else ("numbers", "text")
        raise ValueError(
            f"{column.name} holds {has}, but was categorical, of {had}, when the pairs "
            f"were chosen: give {had}, or fit again"
        )
    return column


def combine(one: CodedColumn, other: CodedColumn) -> CodedColumn:
    """Return the combination of each row, missing if one of the two is, as text."""
    is_known = (one.codes >= 0) & (other.codes >= 0)
    keys = one.codes[is_known] * len(other.labels) + other.codes[is_known]
    occurring, found = np.unique(keys, return_inverse=True)
    codes = np.full(len(is_known), -1, dtype=np.intp)
    codes[is_known] = found
    pairs = zip(*np.divmod(occurring, max(len(other.labels), 1)), strict=True)
    labels = ((one.labels[i], other.labels[j]) for i, j in pairs)
    text = [" & ".join(map(as_text, both)) for both in labels]
    return CodedColumn(f"{one.name} and {other.name}", text, codes, True)


def as_text(label: Any) -> str:
    """Return a category as text, the same for 1 and 1.0; ampersands are doubled."""
    if isinstance(label, str):
        return label.replace("&", "&&")
    is_whole = isinstance(label, Integral) or (
        math.isfinite(label) and label == int(label)
    )
    return str(int(label)) if is_whole else f"{label:.17g}"


def with_columns(table: Any, columns: dict[tuple[str, str], CodedColumn]) -> Any:
    """Return a frame with further columns of categories."""
    named = {column_name(pair): column for pair, column in columns.items()}
    if hasattr(table, "iloc"):
        import pandas as pd

        return table.assign(
            **{
                name: pd.Categorical.from_codes(column.codes, column.labels)
                for name, column in named.items()
            }
        )
    import polars as pl

    return table.with_columns(
        pl.Series(
            name,
            np.array([*column.labels, None], dtype=object)[column.codes],
            dtype=pl.Categorical,
        )
        for name, column in named.items()
    )
