"""A scaler of numbers with heavy tails, for networks."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from sklearn_ltr._core.data.features import CHUNK_SIZE, read_feature_table
from sklearn_ltr._core.data.tables import Matrix
from sklearn_ltr._core.estimators.attributes import FEATURES, Attribute, Attributes
from sklearn_ltr._core.estimators.base import Estimator, refit
from sklearn_ltr._core.trees.categories import exact
from sklearn_ltr._core.typing import FloatArray, MatrixLike

__all__ = ["SmoothClipScaler"]

LIMIT = 3.0  # no clipped number is larger
LEAST_RMS = 0.1  # by which clipped numbers are divided
# A normal distribution's standard deviation, in median distances from its median
DEVIATION = 1.482602218505602
LARGEST = 1e100  # of a scaled number, so that its square is finite


class SmoothClipScaler(OneToOneFeatureMixin, TransformerMixin, Estimator):
    r"""Scale numbers by a robust measure, bring far ones near, and to unit size.

    Counts, prices and BM25 scores have a few huge values, and a StandardScaler makes
    all others of such a column almost the same.  A network then learns nothing from it.
    Here, with m the median of a column in training, and s 1.4826 times the median
    distance from m of the values that are not m,

    .. math:: z = \frac{x - m}{s}, \qquad c = \frac{z}{\sqrt{1 + (z / 3)^2}},
              \qquad x' = \frac{c}{r},

    with r the root mean square of c in training, so that columns are of one size; at
    least 0.1, so that the few other values of a column of mostly one value do not
    become huge.  Numbers near the median keep their distances, far ones keep their
    order, and none is beyond 30.  Of a normal distribution, s is the standard
    deviation.  Values equal to the median do not count in s, so that a column of which
    most are 0 is scaled by the others.  Trees need no scaling.

    Attributes
    ----------
    center_ : ndarray of shape (n_features,), float64
        The median m of each column; 0 if X of `fit` was sparse.
    scale_ : ndarray of shape (n_features,), float64
        The scale s, above 0; inf for a column without two different values, which
        becomes 0 everywhere, as nothing can be learned from it.
    rms_ : ndarray of shape (n_features,), float64
        The root mean square r, or 0.1 if that is larger.
    n_features_in_ : int
        Number of columns seen by `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if X is a DataFrame.

    See Also
    --------
    sklearn.preprocessing.StandardScaler : For columns without far values.
    sklearn.preprocessing.QuantileTransformer : Keeps the ranks of numbers alone.

    Notes
    -----
    NaN stays NaN, and does not count: a SimpleImputer after this scaler may put in 0,
    the median.  A sparse X stays sparse, as 0 becomes 0; s is then of the stored
    numbers that are not 0.

    References
    ----------
    D. Holzmüller, L. Grinsztajn and I. Steinwart, "Better by Default: Strong Pre-Tuned
    MLPs and Boosted Trees on Tabular Data", NeurIPS 2024 ("robust scaling and smooth
    clipping", with the quartiles as the scale).

    Examples
    --------
    >>> from sklearn_ltr.preprocessing import SmoothClipScaler
    >>> scaler = SmoothClipScaler().fit([[1.0], [2.0], [3.0], [5.0], [1e9]])
    >>> scaler.center_, scaler.scale_
    (array([3.]), array([2.9652...]))
    >>> scaler.transform([[1.0], [3.0], [5.0], [1e9]]).round(2)
    array([[-0.47],
           [ 0.  ],
           [ 0.47],
           [ 2.12]])
    """

    _attributes: ClassVar[Attributes] = {
        **FEATURES,
        "center_": Attribute("(n_features,)"),
        "scale_": Attribute("(n_features,)"),
        "rms_": Attribute("(n_features,)"),
    }

    def __init__(self) -> None:
        pass  # defined so that an argument of other scalers is named in the error

    def fit(self, X: MatrixLike, y: object = None) -> Self:
        """Learn the three numbers of each column.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_documents, n_features)
            Numbers, finite or NaN.
        y : object, default=None
            Ignored.

        Returns
        -------
        self : SmoothClipScaler

        Raises
        ------
        ValueError, TypeError
            For text, dates, or infinite numbers; the transformer is then unchanged.
        """
        with refit(self) as model:
            table = read_feature_table(model, X, reset=True, name="X")
            if issparse(table):
                columns = table.tocsc()
                starts = columns.indptr
                values = [
                    columns.data[first:last]
                    for first, last in zip(starts[:-1], starts[1:], strict=True)
                ]
                centers = [0.0] * len(values)
                n_rows = table.shape[0]
                n_known = [n_rows - np.count_nonzero(np.isnan(v)) for v in values]
            else:
                values = [column[~np.isnan(column)] for column in table.T]
                centers = list(map(median, values))
                n_known = list(map(len, values))
            scales = list(map(scale_of, values, centers))
            model.center_, model.scale_ = np.array(centers), np.array(scales)
            model.rms_ = np.array(list(map(rms_of, values, centers, scales, n_known)))
        return self

    def transform(self, X: MatrixLike) -> FloatArray | csr_matrix:
        """Scale and clip.

        Parameters
        ----------
        X : array-like, sparse matrix or DataFrame of shape (n_documents, n_features)
            With the columns of `fit`.

        Returns
        -------
        X : ndarray or CSR matrix of shape (n_documents, n_features), float64

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError, TypeError
            For other columns than those of `fit`, text, dates, or infinite numbers; for
            a sparse X if X of `fit` was dense, as 0 would not stay 0.
        """
        check_is_fitted(self)
        return self._scaled(read_feature_table(self, X, reset=False, name="X"))

    def _scaled(self, table: Matrix) -> FloatArray | csr_matrix:
        """Return a table that was read, scaled and clipped."""
        if not issparse(table):
            return smoothly_clipped(table, self.center_, self.scale_, self.rms_)
        if self.center_.any():
            raise ValueError(
                "X is sparse, but the columns were centred when the scaler was fitted "
                "to a dense X, so 0 would not stay 0: fit to a sparse X, or give a "
                "dense one"
            )
        scaled = table.astype(np.float64)  # a copy
        clip_smoothly(scaled.data, 0.0, self.scale_[scaled.indices])
        scaled.data /= self.rms_[scaled.indices]
        return scaled

    def __sklearn_tags__(self) -> Tags:
        """Return the tags: X may be sparse, and have missing values."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        return tags


def median(values: NDArray[Any]) -> float:
    """Return the median as float64, halved before it is a mean of two; 0 of none."""
    if len(values) == 0:
        return 0.0
    middle = (len(values) - 1) // 2, len(values) // 2
    low, high = np.partition(values, middle)[[*middle]].astype(np.float64)
    # the sum might be infinite, and the half of the smallest number is 0
    return float(low if low == high else low / 2 + high / 2)


def scale_of(values: NDArray[Any], center: float) -> float:
    """Return 1.4826 times the median distance of values that are not the center."""
    unit = unit_of(np.abs(values[~np.isnan(values)]).max(initial=0.0))
    distances = np.abs(values.astype(np.float64) * unit - center * unit)
    distances = distances[distances > 0]  # NaN is not
    if len(distances) == 0:
        return np.inf
    largest = np.finfo(np.float64).max / 4
    return float(min(DEVIATION * median(distances), largest) / unit)


def unit_of(size: FloatArray | float) -> FloatArray:
    """Return 1/2 for large numbers, whose differences might be infinite, else 1."""
    return np.where(size < 1.0, 1.0, 0.5)  # of the smallest numbers, half is 0


def rms_of(values: NDArray[Any], center: float, scale: float, n_known: int) -> float:
    """Return the root mean square of clipped values, besides 0 where X stores none."""
    clipped = values[~np.isnan(values)].astype(np.float64)
    clip_smoothly(clipped, center, scale)
    # the sum does not depend on the order of the rows
    total = exact(clipped * clipped, LIMIT * LIMIT, n_known).sum()
    return max(float(np.sqrt(total / max(n_known, 1))), LEAST_RMS)


def smoothly_clipped(
    table: NDArray[Any], center: FloatArray, scale: FloatArray, rms: FloatArray
) -> FloatArray:
    """Return the numbers of the formula, float64, of a dense table."""
    found = np.empty(table.shape)
    step = max(1, CHUNK_SIZE // max(1, table.shape[1]))
    for start in range(0, len(table), step):  # which stay in the cache
        rows = slice(start, start + step)
        found[rows] = table[rows]
        clip_smoothly(found[rows], center, scale)
        found[rows] /= rms
    return found


def clip_smoothly(
    values: FloatArray, center: FloatArray | float, scale: FloatArray | float
) -> None:
    """Change numbers to c of the formula."""
    unit = unit_of(scale)
    with np.errstate(over="ignore"):  # far numbers, in columns of tiny ones
        values *= unit
        values -= center * unit
        values /= scale * unit
    np.clip(values, -LARGEST, LARGEST, out=values)
    root = values / LIMIT
    root *= root
    root += 1.0
    values /= np.sqrt(root, out=root)
