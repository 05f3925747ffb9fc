"""Models that an engine cannot hold, and requests that lack something."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker
from sklearn_ltr.ensemble import BaggingRanker
from sklearn_ltr.export import (
    to_elasticsearch_ltr,
    to_elasticsearch_ml,
    to_onnx,
    to_ranklib,
    to_solr,
    to_treelite,
    to_vespa,
)
from sklearn_ltr.mart import MARTRegressor
from tests.bad_inputs import Case, accepted
from tests.bad_inputs.parameters import GROUPS, NETWORK, TREES, Y
from tests.bad_inputs.parameters import X as NUMBERS

X = np.asarray(NUMBERS, dtype=np.float64)
NAMES = [f"Column_{j}" for j in range(X.shape[1])]
PLUGIN = partial(to_elasticsearch_ltr, name="m", feature_set="f")
ELASTIC = partial(to_elasticsearch_ml, name="m", features={name: {} for name in NAMES})
SOLR = partial(to_solr, name="m")
WRITERS: dict[str, Any] = {
    "to_elasticsearch_ltr": PLUGIN,
    "to_elasticsearch_ml": ELASTIC,
    "to_onnx": to_onnx,
    "to_ranklib": partial(to_ranklib, missing="zero"),
    "to_solr": SOLR,
    "to_treelite": to_treelite,
    "to_vespa": to_vespa,
}


def trees(**parameters: Any) -> LambdaMARTRanker:
    return LambdaMARTRanker(**TREES, **parameters).fit(X, Y, groups=GROUPS)


def on_codes(codes: list[float]) -> MARTRegressor:
    """A regressor of one column of categories, that are numbers."""
    x = np.resize(np.array(codes), (40, 1))
    parameters = {"min_samples_leaf": 1, "min_samples_category": 1}
    model = MARTRegressor(n_estimators=2, categorical_features=[0], **parameters)
    return model.fit(x, x[:, 0])


def on_init_score() -> LambdaMARTRanker:
    ranker = LambdaMARTRanker(**TREES)
    return ranker.fit(X, Y, groups=GROUPS, init_score=np.zeros(len(X)))


def after(*steps: Any) -> Any:
    pipeline = make_pipeline(*steps, LambdaRankRanker(**NETWORK))
    return pipeline.fit(X, Y, lambdarankranker__groups=GROUPS)


CASES = [
    case
    for name, write in WRITERS.items()
    for case in (
        accepted(f"trees in {name}", lambda w=write: w(trees())),
        Case(f"not fitted in {name}", lambda w=write: w(LambdaMARTRanker()),
             NotFittedError, "not fitted"),
        Case(f"a bag in {name}",
             lambda w=write: w(
                 BaggingRanker(LambdaMARTRanker(**TREES), n_estimators=2).fit(
                     X, Y, groups=GROUPS)),
             TypeError, "give its merge()"),
        Case(f"Ridge in {name}", lambda w=write: w(Ridge().fit(X, Y)),
             TypeError, "models of boosted trees"),
        Case(f"a base model of another kind in {name}",
             lambda w=write: w(trees(init=Ridge().fit(X, Y))),
             ValueError, "Add its scores as a feature"),
        Case(f"init_score in {name}", lambda w=write: w(on_init_score()),
             ValueError, "no place for"),
    )
]  # fmt: skip

CASES += [
    Case("categories below 0 in ONNX", lambda: to_onnx(on_codes([-1, 0, 1])),
         ValueError, "make the column text"),
    Case("fractions in treelite", lambda: to_treelite(on_codes([0.5, 1, 2])),
         ValueError, "make the column text"),
    Case("large codes in ONNX", lambda: to_onnx(on_codes([1, 2, 2**30])),
         ValueError, "make the column text"),
    Case("a step that is no scaler", lambda: to_onnx(after(PCA(2))),
         TypeError, "the step 'pca' of the Pipeline is a PCA"),
    Case("the same in Solr", lambda: SOLR(after(PCA(2))),
         TypeError, "the step 'pca' of the Pipeline is a PCA"),
    Case("a Pipeline that is not fitted",
         lambda: to_onnx(make_pipeline(StandardScaler(), LambdaRankRanker())),
         NotFittedError, "not fitted"),
    Case("trees after a scaler in Solr",
         lambda: SOLR(make_pipeline(StandardScaler(), LambdaMARTRanker(**TREES))),
         TypeError, "a Pipeline has steps that trees cannot hold"),
    Case("RankLib: missing", lambda: to_ranklib(trees(), missing="nan"),
         ValueError, "missing must be 'error' or 'zero', got 'nan'"),
    Case("Solr: missing", lambda: SOLR(trees(), missing="nan"),
         ValueError, "missing must be 'branch' or 'zero', got 'nan'"),
    Case("Solr: empty name", lambda: to_solr(trees(), name=""),
         ValueError, "name must be text and not empty, got ''"),
    Case("Solr: store", lambda: SOLR(trees(), store=None),
         ValueError, "store must be text and not empty, got None"),
    Case("plugin: feature_set", lambda: PLUGIN(trees(), feature_set=1),
         ValueError, "feature_set must be text and not empty, got 1"),
    Case("plugin: features in a list", lambda: PLUGIN(trees(), features=NAMES),
         TypeError, "must be a dict from the names of the columns"),
    Case("plugin: features of other names",
         lambda: PLUGIN(trees(), features={"title": {}, NAMES[0]: {}}),
         ValueError, "1 are no such columns, ['title']"),
    Case("Solr: a feature that is text",
         lambda: SOLR(trees(), features=dict.fromkeys(NAMES, "price")),
         TypeError, "features['Column_0'] must be a dict, got str"),
    Case("Elastic: no features", lambda: ELASTIC(trees(), features={}),
         ValueError, "are missing, ['Column_0'"),
]  # fmt: skip
