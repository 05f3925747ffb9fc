"""A small, quiet ranker of each library, and how it is told what a query is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.datasets import make_ranking


class Data(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray

    def take(self, rows) -> Data:
        return Data(self.X[rows], self.y[rows], self.groups[rows])


def draw(n_queries: int, n_documents: int, seed: int) -> Data:
    """Sorted queries with integer grades 0 to 4: what every library can read."""
    made = make_ranking(
        n_queries, n_documents=n_documents, n_features=5, n_informative=4,
        n_query_features=1, random_state=seed,
    )  # fmt: skip
    return Data(made.data, made.target, made.groups)


DATA = draw(60, 12, seed=0)


def sizes(groups) -> np.ndarray:
    """Documents of each query; its rows stand together."""
    starts = [i for i, g in enumerate(groups) if i == 0 or g != groups[i - 1]]
    return np.diff([*starts, len(groups)])


@dataclass(frozen=True, eq=False)
class Library:
    """A library, its ranker for scikit-learn, and the words that it uses.

    Attributes
    ----------
    name : str
        Its head in the table, in one word.
    module, ranker : str
        Where its class is.
    queries : str
        The argument of `fit` for the queries.
    words : dict of str
        Its names of parameters for those that rows use.
    settings : dict
        What makes a fit small, quiet and repeatable.
    as_it_wants : function
        From one id per row, rows sorted, to what `queries` takes.
    """

    name: str
    module: str
    ranker: str
    queries: str
    words: Mapping[str, str]
    settings: Mapping[str, Any]
    as_it_wants: Callable[[np.ndarray], Any] = np.asarray

    def new(self, **options: Any) -> Any:
        """Return a small ranker; options by our names, or by its own."""
        module = pytest.importorskip(self.module)
        ours = {"n_estimators": 5, "n_jobs": 1, "random_state": 0} | options
        return getattr(module, self.ranker)(
            **self.settings, **{self.words.get(k, k): v for k, v in ours.items()}
        )

    def fit(self, data: Data, **options: Any) -> Any:
        """Fit as the library likes it best."""
        return self.new(**options).fit(data.X, data.y, **self.told(data.groups))

    def told(self, groups) -> dict[str, Any]:
        """What its `fit` is to be given for the queries."""
        return {self.queries: self.as_it_wants(groups)}

    def scores(self, data: Data, X=None, **options: Any) -> np.ndarray:
        """Fit, and score the rows of X, those of the data if None."""
        fitted = self.fit(data, **options)
        return np.asarray(fitted.predict(data.X if X is None else X))


OURS = Library(
    "sklearn_ltr", "sklearn_ltr", LambdaMARTRanker.__name__, "groups",
    {"tree_size": "max_leaf_nodes"},
    {"min_samples_leaf": 5},
)  # fmt: skip
LIBRARIES = [
    OURS,
    Library(
        "LightGBM", "lightgbm", "LGBMRanker", "group",
        {"tree_size": "num_leaves"},
        {"min_child_samples": 5, "verbosity": -1},
        sizes,
    ),
    Library("XGBoost", "xgboost", "XGBRanker", "qid", {"tree_size": "max_leaves"}, {}),
    Library(
        "CatBoost", "catboost", "CatBoostRanker", "group_id",
        {
            "tree_size": "depth", "n_estimators": "iterations",
            "n_jobs": "thread_count", "random_state": "random_seed",
        },
        # its bootstrap refuses very small data
        {"bootstrap_type": "No", "verbose": False, "allow_writing_files": False},
    ),
]  # fmt: skip


def same_scores(some, others) -> None:
    """Raise unless scores are equal, but for the last bits of float32."""
    np.testing.assert_allclose(some, others, rtol=1e-5, atol=1e-6)
