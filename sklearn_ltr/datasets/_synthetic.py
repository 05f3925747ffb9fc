"""Invent documents to rank, with the best order known.

Each column is made from a latent normal variable; the utility of a document is a
smooth function of some latents, and its grade a noisy, coarse reading of the utility::

    z_j      = sqrt(rho_j) a_qj + sqrt(1 - rho_j) e_ij        (q the query of i)
    utility  = sum_j w_j t_qj tanh(z_j)  +  1/2 sum_j w_j z_j z_(j+1)
    grade    = number of thresholds below  utility + noise e_i + 1/2 b_q

with a, b, e standard normal, rho_j between 0 and 1/2, w_j = 1 / sqrt(1 + j).  The
taste t_qj is 1 for even j and 1 + c_q for odd j, where c_q is the latent of the first
column that is constant within a query: a ranker has to learn that the query decides
how much those features are worth.  The thresholds are quantiles, so that grades come
in the shares asked for; b_q makes some queries rich in good documents and others poor.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real

import numpy as np
from numpy.random import Generator, RandomState
from numpy.typing import DTypeLike, NDArray
from sklearn.utils import Bunch, check_random_state, check_scalar

Latents = NDArray[np.float32]

MSLR_GRADE_SHARES = (0.52, 0.32, 0.13, 0.02, 0.01)


def utility_of(latents: Latents, taste: Latents) -> Latents:
    """Return the utility of each document, with mean 0 and variance 1.

    Parameters
    ----------
    latents : (n_informative, n_documents) float32
    taste : (n_documents,) float32, c_q of each document's query

    Returns
    -------
    (n_documents,) float32
    """
    utility = np.zeros(latents.shape[1], dtype=np.float32)
    for j, latent in enumerate(latents):
        weight = np.float32(1 / np.sqrt(1 + j))
        utility += weight * np.tanh(latent) * (1 + taste if j % 2 else 1)
        if j + 1 < len(latents):
            utility += weight / 2 * latent * latents[j + 1]
    centred = utility - utility.mean()
    return np.asarray(centred / max(centred.std(), np.finfo(np.float32).tiny))


def grades_of(
    noisy: NDArray[np.floating], shares: Sequence[float]
) -> NDArray[np.int64]:
    """Cut noisy utilities at quantiles, so that grade g has the share shares[g]."""
    thresholds = np.quantile(noisy, np.cumsum(shares)[:-1])
    return np.searchsorted(thresholds, noisy, side="left").astype(np.int64)


def observed(latent: Latents, zeros: bool, heavy: bool, integer: bool) -> Latents:
    """Turn a latent into a column: each step is monotone, some lose information."""
    column = latent
    if zeros:
        column = np.maximum(column - np.float32(0.5), 0)  # 69% of a normal is zero
    if heavy:
        column = np.expm1(np.float32(1.5) * column)
    if integer:
        column = np.rint(4 * column)
    return column


def query_sizes(rng: Generator, n_queries: int, total: int) -> NDArray[np.int64]:
    """Return heavy-tailed sizes of at least 1 that sum to `total`."""
    popularity = rng.lognormal(sigma=0.7, size=n_queries)
    extra = rng.multinomial(total - n_queries, popularity / popularity.sum())
    return np.asarray(1 + extra, dtype=np.int64)


def make_ranking(
    n_queries: int = 100,
    *,
    n_documents: float = 20,
    n_features: int = 20,
    n_informative: int = 10,
    n_query_features: int = 2,
    heavy_tails: float = 0.0,
    integers: float = 0.0,
    zeros: float = 0.0,
    missing: float = 0.0,
    grade_shares: Sequence[float] = MSLR_GRADE_SHARES,
    noise: float = 0.5,
    random_state: int | RandomState | None = None,
    dtype: DTypeLike = np.float64,
) -> Bunch:
    """Make graded documents of invented queries, with their best order.

    The formulas stand at the head of this module's source.  What
    ``make_ranking(2000, n_documents=121.74, n_features=136, n_informative=40,
    n_query_features=5, heavy_tails=0.6, integers=0.3, zeros=0.4)`` gives looks, to a
    learner, like 2,000 queries of MSLR-WEB: 243,480 rows of 136 columns.

    Parameters
    ----------
    n_queries : int, default=100
        Number of queries.
    n_documents : float, default=20
        Mean number of documents of a query, at least 1.  Sizes are heavy-tailed; the
        number of rows is exactly ``round(n_queries * n_documents)``.
    n_features : int, default=20
        Number of columns; those neither informative nor of the query are noise.
    n_informative : int, default=10
        Number of columns the utility depends on.
    n_query_features : int, default=2
        Number of columns constant within each query.  The first decides how much
        every other informative column is worth in that query.
    heavy_tails, integers, zeros : float, default=0.0
        Shares of the columns, drawn independently, that have a long right tail, hold
        only integers, and are mostly (69%) zero.
    missing : float, default=0.0
        Share of the values of the other columns than the query's that are NaN.
    grade_shares : sequence of float, default=(0.52, 0.32, 0.13, 0.02, 0.01)
        Share of the documents with grade 0, 1, ...; by default much as in MSLR-WEB.
    noise : float, default=0.5
        Standard deviation of what is added to the utility (itself of standard
        deviation 1) before it is graded; with 0, grades never contradict the utility
        within a query.
    random_state : int, RandomState or None, default=None
        The same integer gives the same data.
    dtype : dtype, default=numpy.float64
        Floating type of ``data``; the values are drawn in float32 either way.

    Returns
    -------
    Bunch
        ``data`` : (n_rows, n_features) array of `dtype`;
        ``target`` : (n_rows,) int64, the grades;
        ``groups`` : (n_rows,) int64, the queries 0 to n_queries - 1, in order;
        ``utility`` : (n_rows,) float64, noiseless: the best order within each query;
        ``informative`` : (n_informative,) int64, the columns the utility depends on;
        ``query_features`` : (n_query_features,) int64, those constant in a query.

    Raises
    ------
    ValueError, TypeError
        An argument is of the wrong type or out of range, more columns are asked to
        be informative or the query's than there are, or the shares do not sum to 1.

    Examples
    --------
    >>> from sklearn_ltr.datasets import make_ranking
    >>> ranking = make_ranking(3, n_documents=4, random_state=0)
    >>> ranking.data.shape, ranking.utility.shape, set(ranking.groups.tolist())
    ((12, 20), (12,), {0, 1, 2})
    """
    _check(n_queries, n_documents, n_features, n_informative, n_query_features)
    _check_shares(heavy_tails, integers, zeros, missing, grade_shares, noise)
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
    sizes = query_sizes(rng, n_queries, round(n_queries * n_documents))
    groups = np.repeat(np.arange(n_queries), sizes)

    columns = rng.permutation(n_features)
    informative = columns[:n_informative]
    of_query = columns[n_informative : n_informative + n_query_features]
    kinds = rng.random((n_features, 3)) < (zeros, heavy_tails, integers)
    data = np.empty((len(groups), n_features), dtype=dtype)
    latents = np.empty((n_informative, len(groups)), dtype=np.float32)
    taste = np.zeros(len(groups), dtype=np.float32)
    for place, column in enumerate(columns):
        is_of_query = n_informative <= place < n_informative + n_query_features
        latent = _latent(rng, sizes, constant=is_of_query)
        if place < n_informative:
            latents[place] = latent
        elif place == n_informative and is_of_query:
            taste = latent
        data[:, column] = observed(latent, *kinds[column])
        if missing > 0 and not is_of_query:
            data[rng.random(len(groups), dtype=np.float32) < missing, column] = np.nan

    utility = utility_of(latents, taste).astype(np.float64)
    richness = np.repeat(rng.standard_normal(n_queries), sizes)
    noisy = utility + noise * rng.standard_normal(len(groups)) + richness / 2
    return Bunch(
        data=data,
        target=grades_of(noisy, grade_shares),
        groups=groups,
        utility=utility,
        informative=informative,
        query_features=of_query,
    )


def _latent(rng: Generator, sizes: NDArray[np.int64], constant: bool) -> Latents:
    """Draw one standard normal column, with its share of query effect."""
    rho = np.float32(1 if constant else rng.uniform(0, 0.5))
    of_query = rng.standard_normal(len(sizes), dtype=np.float32)
    latent = np.repeat(np.sqrt(rho) * of_query, sizes)
    if not constant:
        own = rng.standard_normal(len(latent), dtype=np.float32)
        latent += np.sqrt(1 - rho) * own
    return latent


def _check(
    n_queries: int,
    n_documents: float,
    n_features: int,
    n_informative: int,
    n_query_features: int,
) -> None:
    check_scalar(n_queries, "n_queries", Integral, min_val=1)
    check_scalar(n_documents, "n_documents", Real, min_val=1)
    check_scalar(n_features, "n_features", Integral, min_val=1)
    check_scalar(n_informative, "n_informative", Integral, min_val=1)
    check_scalar(n_query_features, "n_query_features", Integral, min_val=0)
    if n_informative + n_query_features > n_features:
        raise ValueError(
            f"n_features={n_features} is fewer than n_informative + n_query_features "
            f"= {n_informative} + {n_query_features}. Ask for more columns."
        )


def _check_shares(
    heavy_tails: float,
    integers: float,
    zeros: float,
    missing: float,
    grade_shares: Sequence[float],
    noise: float,
) -> None:
    check_scalar(heavy_tails, "heavy_tails", Real, min_val=0, max_val=1)
    check_scalar(integers, "integers", Real, min_val=0, max_val=1)
    check_scalar(zeros, "zeros", Real, min_val=0, max_val=1)
    check_scalar(missing, "missing", Real, min_val=0, max_val=1)
    check_scalar(noise, "noise", Real, min_val=0)
    shares = np.asarray(grade_shares, dtype=np.float64)
    if shares.ndim != 1 or not np.all(shares >= 0) or abs(shares.sum() - 1) > 1e-6:
        raise ValueError(
            f"grade_shares={grade_shares!r} must be shares of at least 0 that sum to 1."
        )
