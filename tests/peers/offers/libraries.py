"""A small ranker of each library, and the format in which it takes queries."""

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

    def subset(self, rows) -> Data:
        return Data(self.X[rows], self.y[rows], self.groups[rows])


def draw(n_queries: int, n_documents: int, seed: int) -> Data:
    """Make sorted queries with integer grades 0 to 4, which every library accepts."""
    made = make_ranking(
        n_queries, n_documents=n_documents, n_features=5, n_informative=4,
        n_query_features=1, random_state=seed,
    )  # fmt: skip
    return Data(made.data, made.target, made.groups)


DATA = draw(60, 12, seed=0)


def sizes(groups) -> np.ndarray:
    """Return the number of documents of each query; its rows are consecutive."""
    starts = [i for i, g in enumerate(groups) if i == 0 or g != groups[i - 1]]
    return np.diff([*starts, len(groups)])


@dataclass(frozen=True, eq=False)
class Library:
    """A library, its ranker for scikit-learn, and its names of parameters.

    Attributes
    ----------
    name : str
        Head of its column in the table.
    module, ranker : str
        Module and name of its class.
    queries : str
        Name of the argument of `fit` for the queries.
    parameters : dict of str
        Its names of parameters, by our name.
    settings : dict
        Parameters that make a fit small, quiet and repeatable.
    convert_groups : function
        Converts one query id per row, rows sorted, to the format of `queries`.
    """

    name: str
    module: str
    ranker: str
    queries: str
    parameters: Mapping[str, str]
    settings: Mapping[str, Any]
    convert_groups: Callable[[np.ndarray], Any] = np.asarray

    def new(self, **options: Any) -> Any:
        """Return a small ranker; options have our names, or its own."""
        module = pytest.importorskip(self.module)
        ours = {"n_estimators": 5, "n_jobs": 1, "random_state": 0} | options
        return getattr(module, self.ranker)(
            **self.settings, **{self.parameters.get(k, k): v for k, v in ours.items()}
        )

    def fit(self, data: Data, **options: Any) -> Any:
        """Fit with the queries in the format of the library."""
        return self.new(**options).fit(
            data.X, data.y, **self.group_argument(data.groups)
        )

    def group_argument(self, groups) -> dict[str, Any]:
        """Return the argument of `fit` for the queries."""
        return {self.queries: self.convert_groups(groups)}

    def scores(self, data: Data, X=None, **options: Any) -> np.ndarray:
        """Fit, and return the scores of X, by default of the data."""
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
        # its bootstrap raises an error for very small data
        {"bootstrap_type": "No", "verbose": False, "allow_writing_files": False},
    ),
]  # fmt: skip


def same_scores(actual, expected) -> None:
    """Check that scores are equal, except for the last bits of float32."""
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)
