"""LambdaMART on the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr._core.cluster.engine import fit_ranker
from sklearn_ltr._core.cluster.plan import check_same_kinds
from sklearn_ltr._core.cluster.ranker import ClusterRanker
from sklearn_ltr._core.cluster.summaries import join_rows
from sklearn_ltr._core.data import QueryGroups
from sklearn_ltr._core.data.rows import n_rows
from sklearn_ltr._core.typing import (
    ArraysLike,
    FloatArray,
    IdArraysLike,
    IdsLike,
    MatricesLike,
    MatrixLike,
)
from sklearn_ltr.dask._engine import DaskEngine
from sklearn_ltr.dask._partitions import delayed_parts, is_collection
from sklearn_ltr.ensemble._meta_estimators import takes_columns


class DaskLambdaMARTRanker(ClusterRanker):
    """A LambdaMARTRanker that the workers of a Dask cluster fit together.

    The model equals that of a :class:`~sklearn_ltr.LambdaMARTRanker` fitted to all rows
    in one place, bit for bit: whatever the number of workers, and however the rows are
    divided into partitions.  Each worker keeps the rows of its partitions; per split,
    the workers exchange the histograms of one leaf, those of two or three splits at
    once.  A query whose rows lie on several workers is brought together on one of
    these; of data that are sorted by query, few rows are sent.  `traffic_` counts them.

    The parameters are those of :class:`~sklearn_ltr.LambdaMARTRanker`, with these
    differences: `init` must be fitted; `n_jobs` is the number of threads of each
    worker, None: up to all, more for larger data; callbacks are refused.
    The current :class:`distributed.Client` is used.

    Attributes
    ----------
    traffic_ : Traffic
        `n_moved_queries`, `n_moved_rows` that had to be brought together;
        `n_exchanges` between the workers, and `n_sum_bytes` that the busiest one sent
        and received in sums.
    ensemble_, n_iter_, ... : see LambdaMARTRanker

    See Also
    --------
    sklearn_ltr.LambdaMARTRanker : Documents all parameters and attributes.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> from distributed import Client
    >>> from sklearn_ltr.dask import DaskLambdaMARTRanker
    >>> client = Client()  # doctest: +SKIP
    >>> ddf = dd.read_parquet("judgements/")  # doctest: +SKIP
    >>> X = ddf.drop(columns=["grade", "query"])  # doctest: +SKIP
    >>> ranker = DaskLambdaMARTRanker(random_state=0)  # doctest: +SKIP
    >>> ranker.fit(X, ddf["grade"], groups=ddf["query"])  # doctest: +SKIP
    >>> ranker.predict(X).to_frame().to_parquet("scores/")  # doctest: +SKIP
    >>> model = ranker.to_local()  # needs no Dask  # doctest: +SKIP
    """

    @takes_columns(validation=True, prediction=True, holds_out=False)
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        *,
        groups: IdsLike | None = None,
        X_val: MatricesLike | None = None,
        y_val: ArraysLike | None = None,
        groups_val: IdArraysLike | None = None,
        **columns: Any,
    ) -> Self:
        """Learn to rank.

        Parameters
        ----------
        X : Dask DataFrame or Array of shape (n_documents, n_features)
            Its partitions are DataFrames, or dense or CSR arrays.
        y : Dask Series or Array of shape (n_documents,), or DataFrame or Array of \
shape (n_documents, n_labels)
            Relevance grades; columns are several labels, as for
            :class:`~sklearn_ltr.LambdaMARTRanker`.  Like all further arguments, it is
            divided into the same partitions as X.
        groups : Dask Series or Array of shape (n_documents,)
            The query of each document.  The rows of a query may be anywhere.
        X_val, y_val, groups_val : Dask collections, default=None
            The same for the documents that early stopping evaluates.
        columns : Dask Series or Arrays of shape (n_documents,), default=None
            As for :class:`~sklearn_ltr.LambdaMARTRanker`.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError, TypeError
            As :class:`~sklearn_ltr.LambdaMARTRanker`; for other arguments than Dask
            collections of the same partitions; for partitions with different columns;
            or without `groups`.
        RuntimeError
            If there is no client, or a worker is lost and the fit cannot go on: before
            the first tree, if its rows cannot be read again, or with early stopping.
            The estimator is left as it was, as after any error.

        Warns
        -----
        RuntimeWarning
            If a worker is lost, and the fit goes on without it from the last finished
            tree.
        """
        training = {"X": X, "y": y, "groups": groups}
        validation = {"X_val": X_val, "y_val": y_val, "groups_val": groups_val}
        fit_ranker(self, DaskEngine, training, validation, columns)
        return self

    def predict(self, X: MatrixLike, *, init_score: ArrayLike | None = None) -> Any:
        """Score documents; scores are comparable within a query.

        Parameters
        ----------
        X : Dask DataFrame or Array, or array-like, of shape (n_documents, n_features)
            Real and finite, or NaN.
        init_score : Dask Series or Array, or array-like, of shape (n_documents,), \
default=None
            F_0 of each document; needed if `fit` got an `init_score`.

        Returns
        -------
        scores : Dask Series or Array, or ndarray, of shape (n_documents,), float64
            For a Dask DataFrame a Series with the index of X, which Dask computes
            later.  An ndarray if X is not a Dask collection.
        """
        if not is_collection(X):
            return super().predict(X, init_score=init_score)
        from dask import delayed

        # a task each for the threads of a worker
        model = delayed(self.to_local().set_params(n_jobs=1))
        collection: Any = X
        given: tuple[Any, ...] = () if init_score is None else (init_score,)
        if hasattr(X, "map_partitions"):
            return collection.map_partitions(
                score_frame, model, *given, meta=("score", np.float64)
            )
        return collection.rechunk({1: -1}).map_blocks(
            score_block,
            *(scores[:, None] for scores in given),
            model=model,
            dtype=np.float64,
            drop_axis=1,
            meta=np.empty(0),
        )

    def rank(
        self,
        X: MatrixLike,
        *,
        groups: IdsLike | None = None,
        init_score: ArrayLike | None = None,
    ) -> NDArray[np.int64]:
        """Rank documents within their queries.

        Parameters
        ----------
        X, init_score : Dask collections or array-likes
            As for `predict`.
        groups : Dask Series or Array, or array-like, of shape (n_documents,), \
default=None
            The query of each document.  None: all rows are one query; more than 200
            rows are an error.

        Returns
        -------
        ranks : ndarray of shape (n_documents,), int64
            1 is first.  (Scores and groups of all documents come to the caller.)
        """
        scores, groups = computed(self.predict(X, init_score=init_score), groups=groups)
        return self._ranks(np.asarray(scores), groups)

    def score(
        self,
        X: MatrixLike,
        y: ArrayLike,
        *,
        groups: IdsLike | None = None,
        sample_weight: ArrayLike | None = None,
        label: int | str | None = None,
        init_score: ArrayLike | None = None,
    ) -> float:
        """Return the mean of the ranker's `metric` over queries; None means NDCG@10.

        Parameters
        ----------
        X, init_score : Dask collections or array-likes
            As for `predict`.
        y, groups, sample_weight : Dask collections or array-likes, default=None
            As for :class:`~sklearn_ltr.LambdaMARTRanker`.
        label : int or str or None, default=None
            Of a y with several columns, the one that is measured.

        Returns
        -------
        score : float
            (Scores, y, groups and weights of all documents come to the caller.)
        """
        scores = self.predict(X, init_score=init_score)
        scores, y, weight, groups = computed(scores, y, sample_weight, groups=groups)
        return self._mean_metric(np.asarray(scores), y, groups, weight, label)

    def staged_predict(
        self, X: MatrixLike, *, init_score: ArrayLike | None = None
    ) -> Iterator[FloatArray]:
        """Score documents after each tree.

        Parameters
        ----------
        X, init_score : array-likes
            As for :class:`~sklearn_ltr.LambdaMARTRanker`; no Dask collections.

        Yields
        ------
        scores : ndarray of shape (n_documents,), float64
        """
        if is_collection(X):
            raise TypeError(
                "staged_predict takes no Dask collection: call it for each partition, "
                "by map_partitions and to_local()"
            )
        yield from super().staged_predict(X, init_score=init_score)


def computed(*values: Any, groups: Any) -> tuple[Any, ...]:
    """Return the values of Dask collections, groups last, others as they are."""
    import dask

    found = dask.compute(*values)
    if not is_collection(groups):
        return (*found, groups)
    parts = dask.compute(*delayed_parts(groups))
    labels = {
        number: QueryGroups.from_groups(part, n_rows(part)).query_ids
        for number, part in enumerate(parts)
        if n_rows(part) > 0
    }
    check_same_kinds(labels, "groups")
    return (*found, join_rows([{"groups": part} for part in parts])["groups"])


def score_frame(X: Any, model: LambdaMARTRanker, *init_score: Any) -> Any:
    """Return the scores of a partition of a DataFrame, a Series."""
    import pandas as pd

    scores = score_block(X, *init_score, model=model)
    return pd.Series(scores, index=X.index, name="score")


def score_block(X: Any, *init_score: Any, model: LambdaMARTRanker) -> FloatArray:
    """Return the scores of a partition."""
    given = np.ravel(init_score[0]) if init_score else None
    return model.predict(X, init_score=given)
