"""Synthetic ranking data whose best order is known.

Each feature is computed from a latent normal variable.  The utility of a document is a
smooth function of the latents of the informative features, and its grade is the noisy
utility, discretized.  For document i of query q::

    z_j      = sqrt(rho_j) a_qj + sqrt(1 - rho_j) e_ij
    utility  = sum_j w_j t_qj tanh(z_j)  +  1/2 sum_j w_j z_j z_(j+1)
    grade    = number of thresholds below  utility + noise e_i + 1/2 b_q

with a, b, e standard normal, rho_j uniform in (0, 1/2), w_j = 1 / sqrt(1 + j).

The factor t_qj is 1 for even j and 1 + c_q for odd j, where c_q is the latent of the
first query feature (constant within each query).  So a ranker has to learn an
interaction of that feature with every second informative feature.  The thresholds are
quantiles, which gives each grade its requested share of the documents.  The term b_q
makes queries differ in their share of good documents.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import DTypeLike, NDArray
from sklearn.utils import Bunch, check_random_state

from sklearn_ltr._core.data import count_rows, read_numbers
from sklearn_ltr._core.parameters import integer, real
from sklearn_ltr._core.typing import FloatArray, IntArray, Seed
from sklearn_ltr.datasets._letor import check_floating

Latents = NDArray[np.float32]

MSLR_GRADE_SHARES = (0.52, 0.32, 0.13, 0.02, 0.01)


def utility_of(latents: Latents, query_latent: Latents) -> Latents:
    """Return the utility of each document, scaled to mean 0 and variance 1."""
    utility = np.zeros(latents.shape[1], dtype=np.float32)
    for j, latent in enumerate(latents):
        weight = np.float32(1 / np.sqrt(1 + j))
        utility += weight * np.tanh(latent) * (1 + query_latent if j % 2 else 1)
        if j + 1 < len(latents):
            utility += weight / 2 * latent * latents[j + 1]
    centred = utility - utility.mean()
    return np.asarray(centred / max(centred.std(), np.finfo(np.float32).tiny))


def feature_of(latent: Latents, zeros: bool, heavy: bool, integer: bool) -> Latents:
    """Return the feature of a latent; each transformation is monotone."""
    feature = latent
    if zeros:
        feature = np.maximum(feature - np.float32(0.5), 0)  # P(z < 0.5) = 69% are zero
    if heavy:
        feature = np.expm1(np.float32(1.5) * feature)
    if integer:
        feature = np.rint(4 * feature)
    return feature


class SyntheticRanking(Bunch):
    """Result of :func:`make_ranking`."""

    data: NDArray[np.floating]
    target: IntArray
    groups: IntArray
    utility: FloatArray
    informative: IntArray
    query_features: IntArray


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
    random_state: Seed = None,
    dtype: DTypeLike = np.float64,
) -> SyntheticRanking:
    """Make synthetic queries with graded documents, and their best order.

    The formulas are in the docstring of the source module.  As training data,
    ``make_ranking(2000, n_documents=121.74, n_features=136, n_informative=40,
    n_query_features=5, heavy_tails=0.6, integers=0.3, zeros=0.4)`` resembles 2,000
    queries of MSLR-WEB: 243,480 rows of 136 features.

    Parameters
    ----------
    n_queries : int, default=100
        Number of queries.
    n_documents : float, default=20
        Mean number of documents of a query, at least 1.  Sizes are heavy-tailed; the
        number of rows is exactly ``round(n_queries * n_documents)``.
    n_features : int, default=20
        Number of features.  Those that are neither informative nor query features are
        noise.
    n_informative : int, default=10
        Number of features that the utility depends on.
    n_query_features : int, default=2
        Number of features that are constant within each query.  The first of them
        scales the effect of every second informative feature.
    heavy_tails, integers, zeros : float, default=0.0
        Probabilities that a feature has a long right tail, holds only integers, or is
        mostly (69%) zero; drawn independently for each feature.
    missing : float, default=0.0
        Probability that a value is NaN, in all features but the query features.
    grade_shares : sequence of float, default=(0.52, 0.32, 0.13, 0.02, 0.01)
        Share of the documents with grade 0, 1, ...; the default is similar to MSLR-WEB.
    noise : float, default=0.5
        Standard deviation of the noise that is added to the utility (which has standard
        deviation 1) before it is graded.  With 0, grades never contradict the utility
        within a query.
    random_state : int, RandomState or None, default=None
        Seed or generator; the same integer gives the same data.
    dtype : dtype, default=numpy.float64
        Floating type of ``data``; the values are drawn in float32 either way.

    Returns
    -------
    Bunch
        ``data`` : (n_rows, n_features) array of `dtype`;
        ``target`` : (n_rows,) int64, the grades;
        ``groups`` : (n_rows,) int64, the queries 0 to n_queries - 1, in order;
        ``utility`` : (n_rows,) float64, without noise: its order within each query is
        the best one;
        ``informative`` : (n_informative,) int64, features that the utility depends on;
        ``query_features`` : (n_query_features,) int64, features constant in each query.

    Raises
    ------
    ValueError, TypeError
        If an argument is of the wrong type or out of range, ``n_informative +
        n_query_features`` exceeds `n_features`, or `grade_shares` does not sum to 1.

    Examples
    --------
    >>> from sklearn_ltr.datasets import make_ranking
    >>> ranking = make_ranking(3, n_documents=4, random_state=0)
    >>> ranking.data.shape, ranking.utility.shape, set(ranking.groups.tolist())
    ((12, 20), (12,), {0, 1, 2})
    """
    dtype = check_floating(dtype)
    integer(1).read_as("n_queries", n_queries)
    real(1).read_as("n_documents", n_documents)
    integer(1).read_as("n_features", n_features)
    integer(1).read_as("n_informative", n_informative)
    integer(0).read_as("n_query_features", n_query_features)
    if n_informative + n_query_features > n_features:
        raise ValueError(
            f"n_features={n_features} is fewer than n_informative + n_query_features "
            f"= {n_informative} + {n_query_features}: increase n_features"
        )
    real(0, 1).read_as("heavy_tails", heavy_tails)
    real(0, 1).read_as("integers", integers)
    real(0, 1).read_as("zeros", zeros)
    real(0, 1).read_as("missing", missing)
    real(0).read_as("noise", noise)
    n_grades = count_rows(grade_shares, "grade_shares")
    shares = read_numbers(grade_shares, n_grades, "grade_shares", "grade")
    if not np.all(shares >= 0) or not abs(shares.sum() - 1) <= 1e-6:
        raise ValueError(
            f"grade_shares must be numbers >= 0 that sum to 1, got {grade_shares!r}"
        )
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
    # heavy-tailed sizes of queries, of at least 1
    relative_size = rng.lognormal(sigma=0.7, size=n_queries)
    n_more = round(n_queries * n_documents) - n_queries
    sizes = 1 + rng.multinomial(n_more, relative_size / relative_size.sum())
    groups = np.repeat(np.arange(n_queries), sizes)

    # in a random order: informative features first, then query features, then noise
    features = rng.permutation(n_features)
    informative = features[:n_informative]
    query_features = features[n_informative : n_informative + n_query_features]
    transformations = rng.random((n_features, 3)) < (zeros, heavy_tails, integers)
    # only the latents that grades depend on are kept, to save memory
    data = np.empty((len(groups), n_features), dtype=dtype)
    latents = np.empty((n_informative, len(groups)), dtype=np.float32)
    query_latent = np.zeros(len(groups), dtype=np.float32)
    for j, feature in enumerate(features):
        is_query_feature = n_informative <= j < n_informative + n_query_features
        # rho is the variance of a latent between queries
        rho = np.float32(1 if is_query_feature else rng.uniform(0, 0.5))
        query_part = rng.standard_normal(n_queries, dtype=np.float32)
        latent = np.repeat(np.sqrt(rho) * query_part, sizes)
        if not is_query_feature:
            document_part = rng.standard_normal(len(latent), dtype=np.float32)
            latent += np.sqrt(1 - rho) * document_part
        if j < n_informative:
            latents[j] = latent
        elif j == n_informative and is_query_feature:
            query_latent = latent
        data[:, feature] = feature_of(latent, *transformations[feature])
        if missing > 0 and not is_query_feature:
            data[rng.random(len(groups), dtype=np.float32) < missing, feature] = np.nan

    # the same effect for all documents of a query, so that queries differ in grades
    utility = utility_of(latents, query_latent).astype(np.float64)
    query_effect = np.repeat(rng.standard_normal(n_queries), sizes)  # b_q
    drawn = noise * rng.standard_normal(len(groups))
    noisy_utility = utility + drawn + query_effect / 2
    # discretized at quantiles, so that each grade has its share of the documents
    thresholds = np.quantile(noisy_utility, np.cumsum(grade_shares)[:-1])
    grades = np.searchsorted(thresholds, noisy_utility, side="left")
    return SyntheticRanking(
        data=data,
        target=grades.astype(np.int64),
        groups=groups,
        utility=utility,
        informative=informative,
        query_features=query_features,
    )
