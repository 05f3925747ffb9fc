"""Columns for combinations of categories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from sklearn_ltr._data import RowColumns
from sklearn_ltr._data.categories import holds_text
from sklearn_ltr._data.features import (
    LabelColumn,
    as_table,
    check_columns,
    find_features,
    get_column,
    is_frame,
    is_lazy,
)
from sklearn_ltr._data.rows import n_rows
from sklearn_ltr._data.training_data import TrainingData, without_zero_weights
from sklearn_ltr._estimators.attributes import FEATURES, Attribute, Attributes
from sklearn_ltr._estimators.base import Estimator, refit
from sklearn_ltr._parameters import read_parameters, real
from sklearn_ltr._rankers.reading import check_y_given, read_queries, read_targets
from sklearn_ltr._saved import publish
from sklearn_ltr._trees.categories import (
    CategorySums,
    RowTargets,
    TargetUnit,
    exact,
    row_targets,
)
from sklearn_ltr._typing import DataFrameLike, FloatArray, IdsLike, IntArray

__all__ = ["CategoryPairs"]

D = TypeVar("D", bound=DataFrameLike)

SMOOTHING = 10.0  # rows of the mean target that each category has besides its own


@dataclass(frozen=True, kw_only=True)
class PairParameters:
    """The parameters of CategoryPairs, which documents them."""

    min_gain: Annotated[float, real(0, 1, "left")]


class CategoryPairs(TransformerMixin, Estimator, auto_wrap_output_keys=None):
    r"""Add a categorical column for each useful pair of categorical columns.

    One customer likes a brand that another does not: trees find this in the two columns
    as long as these have few categories.  If they have many, the ranker is better given
    the combinations as categories of their own.  This transformer chooses the pairs of
    columns by the grades of the training queries, and adds them as columns.

    Let :math:`t_i` be the grade of document i less the mean of its query.  Three means
    are subtracted one after another, each of the rest so far: of the category in one
    column of a pair, of the category in the other, and of their combination; all means
    are over other queries (five folds) and ten further documents of mean 0.  The
    gain of a pair is the part of the squared grades that the combinations explain,

    .. math::

        G = \frac{\sum_i w_i r_i^2 - \sum_i w_i {r'_i}^2}{\sum_i w_i t_i^2},

    with w the weight of the query, r the rest after the two columns, and r' the rest
    after the combinations.

    Parameters
    ----------
    min_gain : float in [0, 1), default=0.001
        Pairs of a larger gain are added.  0 adds all that explain anything; a larger
        value adds fewer columns.

    Attributes
    ----------
    pairs_ : list of (str, str)
        The pairs of columns that are added, in the order of the columns of X.
    gains_ : dict of (str, str) to float
        The gain of every pair, added or not, the largest first.
    n_features_in_ : int
        Number of columns seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names.

    Notes
    -----
    The time grows with the number of pairs: two columns of a hundred make 4,950.

    The combinations that occur are not stored: the ranker knows the combinations that
    it was fitted with, and takes others for missing values.

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
    }

    # Requested from the start, so that metadata routing needs no further call
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"groups": True}

    def __init__(self, *, min_gain: float = 0.001) -> None:
        self.min_gain = min_gain

    def fit(
        self,
        X: DataFrameLike,
        y: ArrayLike,
        *,
        groups: IdsLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Choose the pairs.

        Parameters
        ----------
        X : DataFrame of shape (n_documents, n_features)
            Of pandas, polars or Arrow, with two columns or more of a categorical dtype.
            Their categories are text or numbers.
        y : array-like of shape (n_documents,)
            Relevance grades, finite and >= 0.
        groups : array-like of shape (n_documents,), default=None
            The query of each document: numbers, text, dates, or tuples of these.  None:
            up to 200 rows are one query, with a :class:`MissingGroupsWarning`; more
            are an error.
        sample_weight : array-like of shape (n_documents,), default=None
            Weight of a query, constant within it.  0: as if it were not there.

        Returns
        -------
        self : CategoryPairs

        Raises
        ------
        ValueError, TypeError
            For an X that is no frame, or has fewer than two columns of a categorical
            dtype, a column named like a pair, invalid grades, groups or weights, or no
            query of different grades.  The transformer is then unchanged.
        """
        with refit(self) as model:
            p = read_parameters(PairParameters, model)
            table = read_frame(model, X, reset=True)
            check_y_given(y)
            queries = read_queries(groups, n_rows(table))
            data = read_targets(y, queries, RowColumns(sample_weight=sample_weight))
            data = without_zero_weights(data, "sample_weight")
            categories = find_categories(table)
            gains = gains_of_pairs(data, categories)
            model.pairs_ = [pair for pair, gain in gains.items() if gain > p.min_gain]
            taken = [n for n in map(column_name, gains) if n in table.columns]
            if taken:
                raise ValueError(
                    f"X has a column {taken[0]!r}, which is the name of a pair of its "
                    "columns: give it another name"
                )
            largest_first = sorted(gains.items(), key=lambda item: -item[1])
            model.gains_ = dict(largest_first)
        return self

    def transform(self, X: D) -> D:
        """Add the columns of the pairs.

        Parameters
        ----------
        X : DataFrame of shape (n_documents, n_features)
            With the columns of `fit`.

        Returns
        -------
        X : DataFrame of shape (n_documents, n_features + n_pairs)
            Of polars if X is one, else of pandas.  Columns of the pairs have a
            categorical dtype and names such as ``"customer and brand"``; their
            categories are text, such as ``"Ann & Acme"``.  An ampersand of a category
            is doubled, so that no two combinations have the same text.  A combination
            with a missing value is missing.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError, TypeError
            For an X that is no frame, has other columns than at `fit`, or numbers in a
            column that was categorical.
        """
        check_is_fitted(self)
        table = read_frame(self, X, reset=False)
        single = {
            name: read_column(table, feature)
            for feature, name in enumerate(table.columns)
            if any(name in pair for pair in self.pairs_)
        }
        columns = {
            column_name((one, other)): combine(single[one], single[other])
            for one, other in self.pairs_
        }
        transformed: D = with_columns(table, columns)
        return transformed

    def get_feature_names_out(
        self, input_features: Sequence[str] | NDArray[np.object_] | None = None
    ) -> NDArray[np.object_]:
        """Return the names of the columns that `transform` returns.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns of X, as at `fit`; None: these.

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
        names = self.feature_names_in_.tolist()
        if input_features is not None and list(input_features) != names:
            raise ValueError(
                f"input_features must be the columns of fit, {names!r}, got "
                f"{list(input_features)!r}"
            )
        return np.array([*names, *map(column_name, self.pairs_)], dtype=object)

    def __sklearn_tags__(self) -> Tags:
        """Return the tags: y is required, and X holds categories."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.categorical = True
        tags.input_tags.allow_nan = True
        return tags


def column_name(pair: tuple[str, str]) -> str:
    """Return the name of the column of a pair."""
    return " and ".join(pair)


# --- which pairs ------------------------------------------------------------------


def gains_of_pairs(
    data: TrainingData, categories: dict[str, FloatArray]
) -> dict[tuple[str, str], float]:
    """Return the gain of every pair, in the order of the columns."""
    unit = TargetUnit(
        np.abs(data.y).max(),
        data.sample_weight.mean(),
        data.sample_weight.max(),
        data.n_rows,
    )
    targets = row_targets(data, np.arange(data.n_queries), unit)
    total = weighted_square(targets)
    if not total > 0:
        raise ValueError(
            "y has no query with two different grades among those of a sample_weight "
            "above zero: no pair can explain them; check y and groups"
        )
    columns = {name: column[data.rows] for name, column in categories.items()}
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


# --- frames -----------------------------------------------------------------------


def read_frame(transformer: BaseEstimator, X: DataFrameLike, *, reset: bool) -> Any:
    """Return X as a frame of pandas or polars, with the columns of `fit`."""
    table = X if is_lazy(X) else as_table(X)
    if not is_frame(table):
        raise TypeError(
            "X must be a DataFrame, whose dtypes tell which columns hold categories, "
            f"got {type(X).__name__}"
        )
    unnamed = [name for name in table.columns if not isinstance(name, str)]
    if unnamed:
        raise ValueError(
            f"X has a column named {unnamed[0]!r}, which is no text: pairs are named "
            "after their columns; X.columns.astype(str) makes text of numbers"
        )
    check_columns(transformer, table, "X", reset=reset)
    return table


def find_categories(table: Any) -> dict[str, FloatArray]:
    """Return a number for the category of each row, by column; NaN if missing."""
    found = find_features(table, "from_dtype", "X").tolist()
    names = [table.columns[feature] for feature in found]
    if len(found) < 2:
        raise ValueError(
            "X must have two columns or more of a categorical dtype, to make pairs of, "
            f"got {len(found)} ({names!r}): convert columns by astype('category')"
        )
    categories = {}
    for name, feature in zip(names, found, strict=True):
        column = read_column(table, feature)
        categories[name] = np.where(column.codes < 0, np.nan, column.codes)
    return categories


def read_column(table: Any, feature: int) -> LabelColumn:
    """Return the categories of a column; an error where it holds plain numbers."""
    column = get_column(table, feature, "X")
    if not isinstance(column, LabelColumn):
        raise ValueError(
            f"{column.name} holds numbers, but was categorical when the pairs were "
            "chosen: convert it by astype('category')"
        )
    holds_text(column)
    return column


def combine(one: LabelColumn, other: LabelColumn) -> tuple[IntArray, list[str]]:
    """Return the combination of each row, -1 if one is missing, and their text."""
    is_known = (one.codes >= 0) & (other.codes >= 0)
    keys = one.codes[is_known] * len(other.labels) + other.codes[is_known]
    occurring, found = np.unique(keys, return_inverse=True)
    codes = np.full(len(is_known), -1, dtype=np.int64)
    codes[is_known] = found
    pairs = zip(*np.divmod(occurring, max(len(other.labels), 1)), strict=True)
    labels = ((one.labels[i], other.labels[j]) for i, j in pairs)
    return codes, [" & ".join(map(as_text, both)) for both in labels]


def as_text(label: str | float) -> str:
    """Return a category as text, the same for 1 and 1.0; ampersands are doubled."""
    return label.replace("&", "&&") if isinstance(label, str) else f"{label:.17g}"


def with_columns(table: Any, columns: dict[str, tuple[IntArray, list[str]]]) -> Any:
    """Return a frame with further columns of categories, given as `combine` does."""
    if hasattr(table, "iloc"):
        import pandas as pd

        return table.assign(
            **{
                name: pd.Categorical.from_codes(codes, text)
                for name, (codes, text) in columns.items()
            }
        )
    import polars as pl

    return table.with_columns(
        pl.Series(
            name, np.array([*text, None], dtype=object)[codes], dtype=pl.Categorical
        )
        for name, (codes, text) in columns.items()
    )


publish(globals())
