"""Rows of weight 0 are as if they were not there, wherever weights are given."""

from __future__ import annotations

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.ensemble import BaggingRanker, BlendedRanker
from sklearn_ltr.mart import MARTClassifier, MARTRegressor
from sklearn_ltr.metrics import NDCG
from sklearn_ltr.preprocessing import CategoryPairs

DATA = make_ranking(24, n_documents=9, n_features=6, n_informative=3, random_state=0)
ORDER = np.random.default_rng(0).permutation(len(DATA.target))  # queries interleaved
GROUPS = DATA.groups[ORDER]
LEFT_OUT = GROUPS % 3 == 1
# rows that would change bins, and make a network diverge, if they were there
X = np.where(LEFT_OUT[:, np.newaxis], 1e6, 1.0) * np.arctan(DATA.data[ORDER])
Y = np.where(LEFT_OUT, 4, DATA.target[ORDER] % 4)
WEIGHT = np.where(LEFT_OUT, 0.0, 1.0 + GROUPS % 2)
START = np.where(LEFT_OUT, 1e10, X[:, 0])
KEPT = ~LEFT_OUT
TREES = {"n_estimators": 4, "min_samples_leaf": 5, "random_state": 0, "verbose": 1}
NETWORK = {"max_iter": 3, "hidden_layer_sizes": (4,), "random_state": 0}


def rows_of(values, kept):
    return None if values is None else values[kept]


def fitted_state(model):
    """All that a fit has set and a pickle holds, as a hash."""
    parameters = model.get_params()
    saved = model.__getstate__()
    state = {k: v for k, v in saved.items() if k not in parameters}
    if hasattr(model, "network_"):
        state["network_"] = model.network_.parameters
    return joblib.hash(state)


def fit_both(make, columns, **given):
    """Fit with rows of weight 0, and without these rows."""
    models = []
    for kept in (np.ones(len(Y), dtype=bool), KEPT):
        rows = {name: rows_of(values, kept) for name, values in columns.items()}
        models.append(make().fit(**rows, **given))
    return models


RANKING = {"X": X, "y": Y, "groups": GROUPS, "sample_weight": WEIGHT}
VALIDATION = {"X_val": X, "y_val": Y, "groups_val": GROUPS}
VALIDATION |= {"sample_weight_val": WEIGHT}
DRAWN = {"subsample": 0.5, "max_features": 2, "colsample_bytree": 4}
LARGE_LEAVES = {"min_samples_leaf": 30}
STOPPED = {"early_stopping": True, "validation_fraction": 0.3}
CASES = {
    "trees": (LambdaMARTRanker, TREES, RANKING),
    "trees, large leaves": (LambdaMARTRanker, TREES | LARGE_LEAVES, RANKING),
    "trees of drawn rows": (LambdaMARTRanker, TREES | DRAWN, RANKING),
    "trees, held out": (LambdaMARTRanker, TREES | STOPPED, RANKING),
    "trees, validated": (LambdaMARTRanker, TREES, RANKING | VALIDATION),
    "trees on scores": (LambdaMARTRanker, TREES, RANKING | {"init_score": START}),
    "lambdarank": (LambdaRankRanker, NETWORK, RANKING),
    "lambdarank, batches": (
        LambdaRankRanker,
        NETWORK | {"solver": "sgd", "batch_size": 4, "alpha": 0.1},
        RANKING,
    ),
    "lambdarank, held out": (LambdaRankRanker, NETWORK | STOPPED, RANKING),
    "lambdarank, validated": (LambdaRankRanker, NETWORK, RANKING | VALIDATION),
    "ranknet": (RankNetRanker, NETWORK, RANKING),
    "ranknet, tied pairs": (RankNetRanker, NETWORK | {"tied_pairs": True}, RANKING),
}
ROWS = {"X": X, "y": np.where(LEFT_OUT, 9, Y > 1), "sample_weight": WEIGHT}
ROWS_VAL = {f"{name}_val": values for name, values in ROWS.items()}
for kind in (MARTClassifier, MARTRegressor):
    CASES |= {
        f"{kind.__name__}": (kind, TREES, ROWS),
        f"{kind.__name__} of drawn rows": (kind, TREES | DRAWN, ROWS),
        f"{kind.__name__}, large leaves": (kind, TREES | LARGE_LEAVES, ROWS),
        f"{kind.__name__}, held out": (kind, TREES | STOPPED, ROWS),
        f"{kind.__name__}, validated": (kind, TREES, ROWS | ROWS_VAL),
    }
CASES["classes, balanced"] = (
    MARTClassifier, TREES | {"class_weight": "balanced"}, ROWS
)  # fmt: skip
# rows of weight 0 have a category of their own, the first; text of another length would
# have another dtype
WORDS = np.where(LEFT_OUT, "a word", np.char.mod("text %d", ORDER % 7))
TEXT = pd.DataFrame({"word": WORDS, "colour": ORDER % 3, "number": X[:, 0]})
OF_CATEGORIES = TEXT.astype({"word": "category", "colour": "category"})
CASES["MARTRegressor, text"] = (
    MARTRegressor, TREES | {"categorical_features": ["word"]}, ROWS | {"X": TEXT}
)  # fmt: skip
CASES["pairs of categories"] = (CategoryPairs, {}, RANKING | {"X": OF_CATEGORIES})


@pytest.mark.parametrize("case", CASES)
def test_a_fit_is_that_without_the_rows_of_weight_0(case):
    estimator, options, columns = CASES[case]
    one, other = fit_both(lambda: estimator(**options), columns)
    assert fitted_state(one) == fitted_state(other)


@pytest.mark.parametrize("estimator", [LambdaRankRanker, RankNetRanker])
def test_a_partial_fit_is_that_without_the_rows_of_weight_0(estimator):
    models = []
    for kept in (np.ones(len(Y), dtype=bool), KEPT):
        rows = {name: values[kept] for name, values in RANKING.items()}
        model = estimator(**NETWORK)
        models.append(model.partial_fit(**rows).partial_fit(**rows))
    assert fitted_state(models[0]) == fitted_state(models[1])


def test_continued_fits_are_those_without_the_rows_of_weight_0():
    models = fit_both(lambda: LambdaMARTRanker(**TREES, warm_start=True), RANKING)
    for model, kept in zip(models, (np.ones(len(Y), dtype=bool), KEPT), strict=True):
        model.set_params(n_estimators=6)
        model.fit(**{name: values[kept] for name, values in RANKING.items()})
    assert fitted_state(models[0]) == fitted_state(models[1])


@pytest.mark.parametrize("metric", ["ndcg@10", NDCG(5, no_relevant="error")])
def test_a_score_is_that_without_the_rows_of_weight_0(metric):
    model = LambdaMARTRanker(**TREES).fit(**RANKING).set_params(metric=metric)
    irrelevant = np.where(LEFT_OUT, 0, np.maximum(Y, GROUPS % 2 == 0))
    irrelevant[KEPT] += 1
    with_them = model.score(X, irrelevant, groups=GROUPS, sample_weight=WEIGHT)
    without = model.score(
        X[KEPT], irrelevant[KEPT], groups=GROUPS[KEPT], sample_weight=WEIGHT[KEPT]
    )
    assert with_them == without


def test_rows_of_weight_0_are_checked_all_the_same():
    bad = np.where(LEFT_OUT, np.nan, Y)
    for estimator in (LambdaMARTRanker, RankNetRanker):
        with pytest.raises(ValueError, match="y must hold finite"):
            estimator().fit(**RANKING | {"y": bad})
    with pytest.raises(ValueError, match="y must be finite"):
        MARTRegressor().fit(X, bad, WEIGHT)


def test_queries_without_an_order_are_counted_without_those_of_weight_0():
    y = np.where(LEFT_OUT, np.arange(len(Y)), 1)
    with pytest.raises(ValueError, match=r"sample_weight above zero \(n_queries=16"):
        LambdaMARTRanker().fit(**RANKING | {"y": y})


def test_queries_and_classes_of_weight_0_do_not_count_as_those_to_learn_from():
    weight = np.where(GROUPS == 2, 1.0, 0.0)
    with pytest.raises(ValueError, match="validation_fraction=0.1 of 1 queries"):
        LambdaMARTRanker(early_stopping=True).fit(**RANKING | {"sample_weight": weight})
    with pytest.raises(ValueError, match="only one class"):
        MARTClassifier().fit(X, Y > 1, sample_weight=np.where(Y > 1, 1.0, 0.0))


# --- models of several models -----------------------------------------------------


def weighted(network):
    with sklearn.config_context(enable_metadata_routing=True):
        return make_pipeline(clone(network).set_fit_request(sample_weight=True))


@pytest.mark.parametrize(
    ("member", "options"),
    [
        (LambdaMARTRanker(**TREES | {"verbose": 0}), {"bootstrap": True}),
        (weighted(RankNetRanker(**NETWORK)), {"max_samples": 0.5}),
        (Ridge(), {}),
    ],
    ids=["trees", "pipeline", "regressor"],
)
@pytest.mark.parametrize("named", [False, True], ids=["numbers", "names"])
def test_a_bag_is_that_without_the_queries_of_weight_0(member, options, named):
    groups = np.array([f"q{g:03}" for g in GROUPS]) if named else GROUPS
    options = options | {"oob_score": True} if options else options
    one, other = fit_both(
        lambda: BaggingRanker(member, n_estimators=3, random_state=0, **options),
        RANKING | {"groups": groups},
    )
    assert one.predict(X).tobytes() == other.predict(X).tobytes()
    kept_queries = np.unique(GROUPS[KEPT])
    for drawn, expected in zip(
        one.estimators_queries_, other.estimators_queries_, strict=True
    ):
        np.testing.assert_array_equal(drawn, kept_queries[expected])
    if options:
        assert one.oob_score_ == other.oob_score_
        for name, which in (
            ("oob_prediction_", KEPT),
            ("oob_per_query_", kept_queries),
        ):
            found, expected = getattr(one, name), getattr(other, name)
            np.testing.assert_array_equal(found[which], expected)
            assert np.isnan(found).sum() == len(found) - np.isfinite(expected).sum()


FOLDS = list(GroupKFold(3).split(X, Y, GROUPS))


@pytest.mark.parametrize("method", ["sweep", "lambdarank", "equal"])
@pytest.mark.parametrize("cv", [None, FOLDS, "prefit"], ids=["none", "folds", "prefit"])
def test_a_blend_is_that_without_the_queries_of_weight_0(method, cv):
    rankers = [LambdaMARTRanker(**TREES), RankNetRanker(**NETWORK)]
    if cv == "prefit":
        rankers = [r.fit(X[KEPT], Y[KEPT], groups=GROUPS[KEPT]) for r in rankers]
    fewer = cv
    if cv is FOLDS:
        number = np.cumsum(KEPT) - 1
        fewer = [[number[rows[KEPT[rows]]] for rows in fold] for fold in FOLDS]
    options = {"method": method, "random_state": 0}
    folds = iter([cv, fewer])
    one, other = fit_both(
        lambda: BlendedRanker(rankers, cv=next(folds), **options), RANKING
    )
    assert one.weights_.tobytes() == other.weights_.tobytes()
    assert one.predict(X).tobytes() == other.predict(X).tobytes()
    assert one.blend_score_ == other.blend_score_
