"""Random tables and settings, of which every cluster fits the model of one machine."""

from __future__ import annotations

import re
import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr._core.data import COLUMNS
from tests.dask import bytes_of, positions_of

N_CASES, N_QUICK = 40, 2
#: One for each case; most are long
SEEDS = [
    pytest.param(seed, marks=[pytest.mark.long] if seed >= N_QUICK else [])
    for seed in range(N_CASES)
]


class Case(NamedTuple):
    """Partitions of a table, and what is fitted to them."""

    parts: list[Any]  # DataFrames, some without rows
    validation: list[Any]  # [] if there is none
    features: list[str]
    columns: dict[str, Any]  # by argument of `fit`
    options: dict[str, Any]
    n_workers: int

    @property
    def names(self) -> list[str]:
        """Return the columns that a fit needs."""
        several = np.ravel(self.columns["y"]).tolist()
        others = [name for argument, name in self.columns.items() if argument != "y"]
        return [*self.features, *several, *others]

    def fit_here(self) -> LambdaMARTRanker:
        """Fit on one machine."""
        import pandas as pd

        table = with_categories(pd.concat(self.parts + self.validation))
        n = sum(map(len, self.parts))
        given = self.arguments(table[:n])
        if self.validation:
            given |= self.arguments(table[n:], "_val")
        return LambdaMARTRanker(**self.options).fit(**given)

    def arguments(self, table: Any, suffix: str = "") -> dict[str, Any]:
        """Return what `LambdaMARTRanker.fit` takes of a table."""
        given = {
            f"{name}{suffix}": table[c]
            for name, c in self.columns.items()
            if not suffix or name not in COLUMNS or COLUMNS[name].in_validation
        }
        return given | {f"X{suffix}": table[self.features]}

    def check(self, fit: Any) -> None:
        """Compare the model of `fit`, which returns it, with that of one machine."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                expected = self.fit_here()
            except ValueError as error:
                with pytest.raises(ValueError, match=re.escape(str(error)[:20])):
                    fit()
                return
            found = fit()
        assert bytes_of(found.to_local()) == bytes_of(expected)


def with_categories(table: Any) -> Any:
    """Return the table with categories where there is text."""
    return table.astype({name: "category" for name in table if name == "color"})


def random_case(seed: int) -> Case:
    """Return a case that depends on the seed alone."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    n = int(rng.choice([60, 300, 1000, 2500]))
    n_features = int(rng.integers(1, 13))
    has_text, several = rng.random(2) < (0.4, 0.2)
    column = rng.choice(
        ["", "sample_weight", "document_weight", "propensities", "positions"]
    )
    names = [f"x{j}" for j in range(n_features)]
    n_queries = max(3, n // int(rng.integers(3, 40)))
    kind = rng.choice(["int", "text", "half"])
    order = rng.choice(["shuffled", "by query", "as made"])
    missing, decimals = rng.choice([0, 0.05, 0.4]), int(rng.choice([1, 8]))

    def rows(n: int, first_query: int) -> Any:
        X = rng.normal(size=(n, n_features)).round(decimals)
        grades = np.clip((X[:, 0] + rng.normal(size=n)).round(), 0, 4)
        X[rng.random(X.shape) < missing] = np.nan
        table = pd.DataFrame(X, columns=names)
        if has_text:
            text = rng.choice(["red", "green", "blue", "blue ", None], n)
            table["color"] = text
            grades[text == "blue"] += 1
        query = first_query + rng.integers(0, n_queries, n)
        if order == "by query":
            query = np.sort(query)
        grades[query % 7 == 0] = 1
        table["y"] = grades
        if several:
            table["bought"] = np.where(rng.random(n) < 0.2, np.nan, grades > 1)
        table["query"] = {"int": query, "half": query / 2}.get(
            kind, pd.Series(query).map("q{}".format)
        )
        position = positions_of(query)
        table["given"] = {
            "sample_weight": query % 3 / 2,
            "document_weight": np.maximum(rng.integers(0, 3, n), position == 0) / 2,
            "positions": position,
        }.get(column, 1 / (1 + position % 5))
        table["start"] = rng.normal(size=n)
        return table

    table, validation = rows(n, 0), rows(n // 2, n_queries // 2)
    if order == "shuffled":
        table = table.sample(frac=1, random_state=seed)
    columns: dict[str, Any] = {"y": ["y", "bought"] if several else "y"}
    columns["groups"] = "query"
    if column:
        columns[column] = "given"
    if rng.random() < 0.2:
        columns["init_score"] = "start"
    stops = rng.choice(["no", "held out", "validation"])

    def cut(table: Any) -> list[Any]:
        cuts = np.sort(rng.integers(0, len(table) + 1, 3)[rng.integers(0, 3, 4)])
        bounds = [0, *cuts.tolist(), len(table)]
        return [table.iloc[a:b] for a, b in zip(bounds, bounds[1:], strict=False)]

    options = random_options(rng)
    options |= {"early_stopping": stops != "no", "random_state": seed}
    if column == "positions":
        options["position_bias"] = "additive"
    features = names + ["color"] * bool(has_text)
    val = cut(validation) if stops == "validation" else []
    return Case(cut(table), val, features, columns, options, int(rng.integers(1, 5)))


def random_options(rng: Any) -> dict[str, Any]:
    """Return some settings of a fit."""
    choices: dict[str, list[Any]] = {
        "grow_policy": ["auto", "best_first", "symmetric"],
        "split_gain": ["second_order", "least_squares"],
        "max_leaf_nodes": [2, 7, 31],
        "min_samples_leaf": ["auto", 1, 20],
        "max_bins": [4, 60, 255],
        "subsample": ["auto", 0.5, 1.0],
        "max_features": [0.6, 1.0],
        "path_smooth": [0.0, 2.0],
        "learning_rate": [0.1, 0.8],
        "metric": ["ndcg@5", "map", "err", None],
        "dart": [None, None, {"rate_drop": 0.5}],
        "interaction_cst": [None, None, "no_interactions"],
        "n_estimators": [2, 9],
    }
    return {name: given[rng.integers(len(given))] for name, given in choices.items()}
