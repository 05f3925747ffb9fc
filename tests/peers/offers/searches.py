"""Rows on searches and cross-validation."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    cross_val_predict,
    cross_validate,
)
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_ltr.metrics import NDCG
from sklearn_ltr.scorers import make_ranking_scorer
from tests.peers.offers import row
from tests.peers.offers.libraries import (
    DATA,
    OURS,
    Data,
    Library,
    same_scores,
    sizes,
)
from tests.peers.offers.queries import DIFFERS

FOLDS = GroupKFold(3)
TREE_SIZES = (2, 6)
SCORER = make_ranking_scorer("ndcg@5")
ROUTED = {"groups": DATA.groups}
NO_QUERIES = "nontrivial groups"


@cache
def by_hand(library: Library, tree_size: int) -> tuple[np.ndarray, np.ndarray]:
    """NDCG@5 of each fold, and the predictions of all rows, from plain fits."""
    values, predictions = [], np.empty(len(DATA.y))
    for train, test in FOLDS.split(*DATA):
        scaler = StandardScaler().fit(DATA.X[train])
        X, X_test = scaler.transform(DATA.X[train]), scaler.transform(DATA.X[test])
        data = Data(X, DATA.y[train], DATA.groups[train])
        predictions[test] = library.scores(data, X_test, tree_size=tree_size)
        of_fold = DATA.take(test)
        values.append(NDCG(5)(of_fold.y, predictions[test], groups=of_fold.groups))
    return np.array(values), predictions


def piped(ranker) -> Pipeline:
    return Pipeline([("scale", StandardScaler()), ("rank", ranker)])


def as_by_hand(library: Library, ranker, scoring, X, **given: Any) -> None:
    """A search, a cross-validation and its predictions are what plain loops give."""
    of_size = f"rank__{library.words['tree_size']}"
    search = GridSearchCV(
        piped(ranker), {of_size: TREE_SIZES}, scoring=scoring, cv=FOLDS,
        error_score="raise",
    ).fit(X, DATA.y, groups=DATA.groups, **given)  # fmt: skip
    loops = [by_hand(library, size) for size in TREE_SIZES]
    expected = [values.mean() for values, _ in loops]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], expected)

    values, predictions = loops[-1]
    how = {"cv": FOLDS, "params": given or ROUTED}
    if given:  # with routing off, splitters are told the groups like this
        how["groups"] = DATA.groups
    last = piped(ranker).set_params(**{of_size: TREE_SIZES[-1]})
    validated = cross_validate(last, X, DATA.y, scoring=scoring, **how)
    np.testing.assert_allclose(validated["test_score"], values)
    same_scores(cross_val_predict(last, X, DATA.y, **how), predictions)


@row(
    "`GridSearchCV` of a `Pipeline`, `cross_val_predict`: whole queries, NDCG of each",
    LightGBM=DIFFERS,
    CatBoost=NO_QUERIES,
)
def searches(library):
    with sklearn.config_context(enable_metadata_routing=True):
        ranker = library.new()
        if library is not OURS and hasattr(ranker, "set_fit_request"):
            ranker.set_fit_request(**{library.queries: "groups"})
        as_by_hand(library, ranker, SCORER, DATA.X)


@searches.instead("LightGBM", "with a subclass")
def searches_with_a_subclass(library):
    lightgbm = pytest.importorskip("lightgbm")

    class RankerOfIds(lightgbm.LGBMRanker):
        """Takes one id per row; rows are sorted."""

        def fit(self, X, y, groups=None):
            return super().fit(X, y, group=sizes(groups))

    with sklearn.config_context(enable_metadata_routing=True):
        ranker = RankerOfIds(**library.new().get_params()).set_fit_request(groups=True)
        as_by_hand(library, ranker, SCORER, DATA.X)


def by_the_index(ranker, X, y) -> float:
    """A scorer that finds the query ids in X."""
    return NDCG(5)(y, ranker.predict(X), groups=X.index)


@searches.instead("CatBoost", "with the ids as X's index too")
def searches_by_the_index(library):
    """Routing stays off: `fit` gets what `group_id` says, cut into folds."""
    indexed = pd.DataFrame(DATA.X, index=DATA.groups)
    told = {"rank__group_id": DATA.groups}
    as_by_hand(library, library.new(), by_the_index, indexed, **told)


@row(
    "asks for its queries itself, without `set_fit_request`",
    LightGBM="Should set group",
    XGBoost="`group` or `qid` is required",
    CatBoost=NO_QUERIES,
)
def nothing_to_request(library):
    with sklearn.config_context(enable_metadata_routing=True):
        cross_validate(
            library.new(), DATA.X, DATA.y, scoring=SCORER, cv=FOLDS, params=ROUTED,
            error_score="raise",
        )  # fmt: skip
