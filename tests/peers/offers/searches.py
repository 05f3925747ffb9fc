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
    """Return NDCG@5 of each fold and the predictions of all rows, from plain loops."""
    values, predictions = [], np.empty(len(DATA.y))
    for train, test in FOLDS.split(*DATA):
        scaler = StandardScaler().fit(DATA.X[train])
        X, X_test = scaler.transform(DATA.X[train]), scaler.transform(DATA.X[test])
        data = Data(X, DATA.y[train], DATA.groups[train])
        predictions[test] = library.scores(data, X_test, tree_size=tree_size)
        of_fold = DATA.subset(test)
        values.append(NDCG(5)(of_fold.y, predictions[test], groups=of_fold.groups))
    return np.array(values), predictions


def make_pipeline(ranker) -> Pipeline:
    return Pipeline([("scale", StandardScaler()), ("rank", ranker)])


def check_against_loops(library: Library, ranker, scoring, X, **given: Any) -> None:
    """Check that a search and a cross-validation give the results of plain loops."""
    of_size = f"rank__{library.parameters['tree_size']}"
    search = GridSearchCV(
        make_pipeline(ranker), {of_size: TREE_SIZES}, scoring=scoring, cv=FOLDS,
        error_score="raise",
    ).fit(X, DATA.y, groups=DATA.groups, **given)  # fmt: skip
    loops = [by_hand(library, size) for size in TREE_SIZES]
    expected = [values.mean() for values, _ in loops]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], expected)

    values, predictions = loops[-1]
    how = {"cv": FOLDS, "params": given or ROUTED}
    if given:  # without metadata routing the splitter takes the groups like this
        how["groups"] = DATA.groups
    last = make_pipeline(ranker).set_params(**{of_size: TREE_SIZES[-1]})
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
        check_against_loops(library, ranker, SCORER, DATA.X)


@searches.workaround("LightGBM", "with a subclass")
def searches_with_a_subclass(library):
    lightgbm = pytest.importorskip("lightgbm")

    class RankerOfIds(lightgbm.LGBMRanker):
        """Takes one query id per row; rows are sorted."""

        def fit(self, X, y, groups=None):
            return super().fit(X, y, group=sizes(groups))

    with sklearn.config_context(enable_metadata_routing=True):
        ranker = RankerOfIds(**library.new().get_params()).set_fit_request(groups=True)
        check_against_loops(library, ranker, SCORER, DATA.X)


def by_the_index(ranker, X, y) -> float:
    """Scorer that reads the query ids from the index of X."""
    return NDCG(5)(y, ranker.predict(X), groups=X.index)


@searches.workaround("CatBoost", "with the ids also as the index of X")
def searches_by_the_index(library):
    """Without metadata routing: scikit-learn splits `group_id` into folds for `fit`."""
    indexed = pd.DataFrame(DATA.X, index=DATA.groups)
    given = {"rank__group_id": DATA.groups}
    check_against_loops(library, library.new(), by_the_index, indexed, **given)


@row(
    "metadata routing without `set_fit_request`",
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
