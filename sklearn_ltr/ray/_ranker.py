"""LambdaMART on the actors of a Ray cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_scalar

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr._core.cluster.arrow import features_of, numbers_of
from sklearn_ltr._core.cluster.engine import fit_ranker
from sklearn_ltr._core.cluster.ranker import ClusterRanker
from sklearn_ltr._core.typing import FloatArray, IdsLike, MatrixLike
from sklearn_ltr.ensemble._meta_estimators import takes_columns
from sklearn_ltr.ray._engine import RayEngine

SCORE = "score"  # the column that `predict` adds


class RayLambdaMARTRanker(ClusterRanker):
    """A LambdaMARTRanker that the actors of a Ray cluster fit together.

    The model equals that of a :class:`~sklearn_ltr.LambdaMARTRanker` fitted to all rows
    in one place, bit for bit: whatever the number of actors, and however the rows are
    divided into blocks.  The blocks stay in Ray's object store; an actor reads one of
    its blocks at a time, and keeps about a byte of each value.  A query whose rows lie
    with several actors is brought together with one of these.

    The parameters are those of :class:`~sklearn_ltr.LambdaMARTRanker`, with these
    differences: `init` must be fitted; `n_jobs` is the number of CPUs that are reserved
    for each actor, and of its threads, None: as many as the machines have; callbacks
    are refused.

    Attributes
    ----------
    traffic_ : Traffic
        `n_moved_queries`, `n_moved_rows` that had to be brought together;
        `n_exchanges` between the actors, and `n_sum_bytes` that the busiest one sent
        and received in sums.
    ensemble_, n_iter_, ... : see LambdaMARTRanker

    See Also
    --------
    sklearn_ltr.LambdaMARTRanker : Documents all parameters and attributes.

    Examples
    --------
    >>> import ray  # doctest: +SKIP
    >>> from sklearn_ltr.ray import RayLambdaMARTRanker
    >>> ds = ray.data.read_parquet("judgements/")  # doctest: +SKIP
    >>> ranker = RayLambdaMARTRanker(random_state=0)
    >>> ranker.fit(ds, "grade", groups="query", n_workers=2)  # doctest: +SKIP
    >>> ranker.predict(ds).write_parquet("scores/")  # doctest: +SKIP
    >>> model = ranker.to_local()  # needs no Ray  # doctest: +SKIP
    """

    @takes_columns(prediction=True, holds_out=False)
    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        *,
        groups: IdsLike | None = None,
        X_val: Any = None,
        n_workers: int | None = None,
        **columns: Any,
    ) -> Self:
        """Learn to rank.

        Parameters
        ----------
        X : Dataset
            With a column for each other argument.  All further columns are features:
            numbers, booleans, and text, which is read as categories.  Select columns
            by ``X.select_columns``.
        y : str or list of str
            The column of relevance grades; a list of several labels, as for
            :class:`~sklearn_ltr.LambdaMARTRanker`.
        groups : str
            The column of the query.  The rows of a query may be anywhere.
        X_val : Dataset, default=None
            The documents that early stopping evaluates, with the same columns.
        n_workers : int or None, default=None
            Most actors that fit together, no more than the cluster has room for.
            None: one for each machine.
        columns : str, default=None
            Columns of what :class:`~sklearn_ltr.LambdaMARTRanker` takes by that name.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError, TypeError
            As :class:`~sklearn_ltr.LambdaMARTRanker`; for something else than a
            Dataset; for columns that it does not have; or without `groups`.
        RuntimeError
            If the CPUs of the actors do not become free within a minute, or if an actor
            is lost and the fit cannot go on: before the first tree, or with early
            stopping.  The estimator is left as it was, as after any error.

        Warns
        -----
        RuntimeWarning
            If an actor is lost, and the fit goes on without it from the last finished
            tree.
        """
        if n_workers is not None:
            check_scalar(n_workers, "n_workers", Integral, min_val=1)
        datasets = {"": X} if X_val is None else {"": X, "_val": X_val}
        for suffix, given in datasets.items():
            if given is not None and not is_dataset(given):
                raise TypeError(
                    f"X{suffix} must be a ray.data.Dataset, got {type(given).__name__}:"
                    " give one, such as from ray.data.from_pandas or read_parquet; or "
                    "fit a LambdaMARTRanker on data in memory"
                )
        training: dict[str, Any] = {"X": X, "y": y, "groups": groups}
        validation: dict[str, Any] = {}
        if X_val is not None:
            validation = {"X_val": X_val, "y_val": y, "groups_val": groups}
            columns |= {f"{name}_val": column for name, column in columns.items()}
        with closing(RayEngine(datasets, n_workers, self.n_jobs)) as engine:
            fit_ranker(self, lambda: engine, training, validation, columns)
        return self

    def predict(self, X: Any, *, init_score: Any = None) -> Any:
        """Score documents; scores are comparable within a query.

        Parameters
        ----------
        X : Dataset, or array-like of shape (n_documents, n_features)
            Columns of a Dataset that are no features of the model do not matter.
        init_score : str, or array-like of shape (n_documents,), default=None
            F_0 of each document, in a Dataset the name of its column; needed if `fit`
            got an `init_score`.

        Returns
        -------
        scores : Dataset, or ndarray of shape (n_documents,), float64
            Of a Dataset the same with a column "score", which Ray computes later, as
            Ray promises no order of rows.
        """
        if not is_dataset(X):
            return super().predict(X, init_score=init_score)
        # a task each for the CPUs of a machine
        model = self.to_local().set_params(n_jobs=1)
        return X.map_batches(
            score_table, fn_args=(model, init_score), batch_format="pyarrow"
        )

    def rank(
        self, X: MatrixLike, *, groups: IdsLike | None = None, init_score: Any = None
    ) -> NDArray[np.int64]:
        """Rank documents within their queries.

        Parameters
        ----------
        X, groups, init_score : array-likes
            As for :class:`~sklearn_ltr.LambdaMARTRanker`; no Dataset.

        Returns
        -------
        ranks : ndarray of shape (n_documents,), int64
            1 is first.
        """
        refuse_dataset(X, "rank", "predict, and sort the rows of each query by score")
        return super().rank(X, groups=groups, init_score=init_score)

    def score(
        self,
        X: Any,
        y: Any,
        *,
        groups: Any = None,
        sample_weight: Any = None,
        label: int | str | None = None,
        init_score: Any = None,
    ) -> float:
        """Return the mean of the ranker's `metric` over queries; None means NDCG@10.

        Parameters
        ----------
        X : Dataset, or array-like of shape (n_documents, n_features)
        y, groups, sample_weight, init_score : names of columns, or array-likes
            As for `fit`; of array-likes as for :class:`~sklearn_ltr.LambdaMARTRanker`.
        label : int or str or None, default=None
            Of several labels, the one that is measured.

        Returns
        -------
        score : float
            (Scores, grades, queries and weights of all documents come to the caller.)
        """
        given = {"groups": groups, "sample_weight": sample_weight}
        if not is_dataset(X):
            given |= {"label": label, "init_score": init_score}
            return super().score(X, y, **given)
        names = [SCORE, *([y] if isinstance(y, str) else y)]
        names += [name for name in given.values() if name is not None]
        scored = self.predict(X, init_score=init_score).select_columns(names)
        frame = scored.to_pandas()
        groups, weight = (
            None if name is None else frame[name] for name in given.values()
        )
        scores = frame[SCORE].to_numpy()
        return self._mean_metric(scores, frame[y], groups, weight, label)

    def staged_predict(
        self, X: MatrixLike, *, init_score: ArrayLike | None = None
    ) -> Iterator[FloatArray]:
        """Score documents after each tree.

        Parameters
        ----------
        X, init_score : array-likes
            As for :class:`~sklearn_ltr.LambdaMARTRanker`; no Dataset.

        Yields
        ------
        scores : ndarray of shape (n_documents,), float64
        """
        refuse_dataset(X, "staged_predict", "map_batches with to_local()")
        yield from super().staged_predict(X, init_score=init_score)


def is_dataset(X: Any) -> bool:
    """Return whether this is a dataset of Ray."""
    module = type(X).__module__
    if module.partition(".")[0] != "ray":
        return False
    import ray.data

    return isinstance(X, ray.data.Dataset)


def refuse_dataset(X: Any, method: str, instead: str) -> None:
    """Raise a TypeError for a Dataset."""
    if is_dataset(X):
        raise TypeError(f"{method} takes no Dataset: call {instead}")


def score_table(table: Any, model: LambdaMARTRanker, init_score: str | None) -> Any:
    """Return a table with a column of scores."""
    import pyarrow as pa

    if SCORE in table.column_names:
        raise ValueError(
            f"the Dataset has a column {SCORE!r} already: rename it, or drop it"
        )
    scores = np.empty(0)
    if len(table) > 0:
        start = None if init_score is None else numbers_of(table[init_score])
        X = features_of(table, model.feature_names_in_)
        scores = model.predict(X, init_score=start)
    return table.append_column(SCORE, pa.array(scores))
