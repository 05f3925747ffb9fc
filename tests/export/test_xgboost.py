"""XGBoost reads what we write, and we read what it writes: in its float32."""

from __future__ import annotations

import json
import pickle
import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.export import (
    from_json,
    from_tree_model,
    from_xgboost,
    to_json,
    to_tree_model,
    to_xgboost,
    to_xgboost_dump,
)
from sklearn_ltr.export._float32 import above, at_most
from sklearn_ltr.export._xgboost import xgboost_text
from sklearn_ltr.inspection import shap_values
from sklearn_ltr.mart import MARTRegressor
from tests.export.models import (
    GROUPS,
    N_ROWS,
    TREES,
    fitted,
    grades,
    leaves_of,
    numbers,
    rows_of,
    score,
    table,
)

xgboost = pytest.importorskip("xgboost")
MODELS = fitted()
DATA = Path(__file__).parent / "data"
# XGBoost adds up to 32 leaf values in float32, each with half a unit of error
ROUNDING = 32 * 2.0**-24


def in_float32(X):
    """Return rows whose numbers float32 can hold."""
    if isinstance(X, pd.DataFrame):
        floats = X.select_dtypes(float)
        return X.assign(**{c: in_float32(floats[[c]].to_numpy())[:, 0] for c in floats})
    largest = np.float32(3e38)
    return np.clip(X, -largest, largest).astype(np.float32).astype(np.float64)


def float32_rows(model, n=N_ROWS):
    """Rows on the float32 numbers on both sides of each threshold, categories known."""
    X, rng = in_float32(rows_of(model, n)), np.random.default_rng(0)
    described = to_tree_model(model)
    for j, feature in enumerate(described.features):
        if feature.categories is not None:
            known = [c for c in X.iloc[:, j].cat.categories if c in feature.categories]
            X.isetitem(j, X.iloc[:, j].cat.set_categories(known))
            continue
        t = [tree.threshold[tree.feature == j] for tree in described.trees]
        t = np.append(np.concatenate(t), 0.0)
        t = np.concatenate([at_most(t), above(t)])
        t = t[np.abs(t) < 3e38].astype(np.float64)
        chosen = rng.random(n) < 0.4
        column = X.iloc[:, j].to_numpy().copy() if hasattr(X, "iloc") else X[:, j]
        column[chosen] = rng.choice(t, chosen.sum())
        if hasattr(X, "iloc"):
            X.isetitem(j, column)
    return X


def matrix(X):
    return xgboost.DMatrix(X, enable_categorical=True, nthread=1)


def load(text):
    booster = xgboost.Booster({"nthread": 1})
    booster.load_model(bytearray(text, "utf-8"))
    return booster


def assert_close(found, expected):
    atol = ROUNDING * np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol)


def leaves_in_xgboost(model, X):
    """Return the leaves that XGBoost finds, from leaf values that are their numbers."""
    trees = [replace(t, value=np.arange(len(t.feature)) * 1.0) for t in model.trees]
    numbered = replace(model, trees=tuple(trees), base_score=0.0, sigma=0.5)
    found = [
        load(xgboost_text(replace(numbered, trees=(tree,)))).predict(
            matrix(X), output_margin=True
        )
        for tree in trees
    ]
    return np.column_stack(found)


@pytest.mark.parametrize("name", MODELS)
def test_xgboost_reaches_the_leaves_of_our_models(name):
    model = MODELS[name]
    text, rows = to_xgboost(model), float32_rows(MODELS[name])
    booster, described = load(text), to_tree_model(model)
    np.testing.assert_array_equal(
        leaves_in_xgboost(described, rows), leaves_of(described, rows)
    )
    expected = score(model, rows) * (2 * 0.7 if name == "classifier" else 1)
    assert_close(booster.predict(matrix(rows), output_margin=True), expected)
    assert_close(from_xgboost(text).predict(rows), expected)
    if name == "classifier":
        expected = model.predict_proba(rows)[:, 1]
        np.testing.assert_allclose(  # of scores with errors of float32
            booster.predict(matrix(rows)), expected, rtol=1e-5
        )


def test_unseen_codes_go_the_way_of_missing_values():
    model = MODELS["categories"]
    rows = float32_rows(model, 5000)
    codes = rows.assign(
        site=rows["site"].cat.codes.where(rows["site"].notna()),
        kind=rows["kind"].astype(float),
    ).astype(float)
    unseen = codes.copy()
    unseen.loc[unseen["site"].isna(), "site"] = 40
    unseen.loc[unseen["kind"].isna(), "kind"] = 100
    text = json.loads(to_xgboost(model))
    del text["learner"]["gradient_booster"]["model"]["cats"]  # as by older versions
    booster, types = load(json.dumps(text)), ["float", "c", "c", "float"]
    both = [
        booster.predict(
            xgboost.DMatrix(X, feature_types=types, enable_categorical=True)
        )
        for X in (codes, unseen)
    ]
    np.testing.assert_array_equal(both[0], both[1])


def test_the_dump_is_that_of_xgboost():
    model = MODELS["ranker"]
    theirs = load(to_xgboost(model)).get_dump(dump_format="json")

    def plain(node):
        """Return a node without its number and its feature."""
        if "leaf" in node:
            return np.float32(node["leaf"])
        yes, no = map(plain, node["children"])
        is_yes = node["missing"] == node["yes"]
        return np.float32(node["split_condition"]), is_yes, yes, no

    trees = json.loads(to_xgboost_dump(model))
    keys = {"nodeid", "depth", "split", "split_condition", "yes", "no", "missing"}
    assert trees[0].keys() == keys | {"children"}
    assert trees[0]["children"][0]["depth"] == 1
    for one, other in zip(trees, theirs, strict=True):
        assert plain(one) == plain(json.loads(other))


PARAMETERS = {
    "default": {},
    "dart": {"booster": "dart", "rate_drop": 0.3},
    "dropped trees": {"rate_drop": 0.3},  # before 3.4, none are
    "random forest": {"num_parallel_tree": 3, "subsample": 0.5, "eta": 1.0},
    "approx": {"tree_method": "approx"},
    "lossguide": {"grow_policy": "lossguide", "max_leaves": 20, "max_depth": 0},
    "one against the rest": {"max_cat_to_onehot": 100},
    "squares": {"objective": "reg:squarederror"},
    "two classes": {"objective": "binary:logistic"},
    "raw": {"objective": "binary:logitraw"},
    "counts": {"objective": "count:poisson"},
    "gamma": {"objective": "reg:gamma"},
    "base score": {"base_score": 0.25},
}


def trained(X, y, parameters, groups=GROUPS, n_trees=10):
    given = {"objective": "rank:ndcg", "nthread": 1, "seed": 0, "verbosity": 0}
    given |= parameters
    if given.get("booster") != "gblinear":
        given = {"max_cat_to_onehot": 1} | given
    data = matrix(X)
    shift = 0.5 if given["objective"] == "reg:gamma" else 0.0
    data.set_label(y > 1 if "binary" in given["objective"] else y + shift)
    if "rank" in given["objective"]:
        data.set_info(qid=groups)
    return xgboost.train(given, data, n_trees)


CASES = [
    *((numbers, name) for name in PARAMETERS if name != "one against the rest"),
    *((table, name) for name in ("default", "dart", "one against the rest")),
]


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_we_score_models_of_xgboost_within_its_float32(kind, name):
    X = in_float32(kind()) if kind is table else np.clip(kind(), -1e30, 1e30)
    booster = trained(X, grades(X), PARAMETERS[name])
    model = from_xgboost(booster)
    rows = float32_rows(model)
    assert_close(model.predict(rows), booster.predict(matrix(rows), output_margin=True))
    rng = np.random.default_rng(3)
    if kind is numbers:  # and where XGBoost rounds numbers to float32
        with np.errstate(under="ignore"):
            rows *= 1 + 2.0**-24 * rng.integers(-4, 5, rows.shape) / 2
        rounded = rows.astype(np.float32)
        assert (rounded != rows).any()
        np.testing.assert_array_equal(model.predict(rows), model.predict(rounded))


@pytest.mark.parametrize("name", ["default", "random forest", "dart"])
def test_the_trees_up_to_the_best_iteration_count(name, tmp_path):
    X = np.clip(numbers(), -1e30, 1e30)
    y, late = grades(X), GROUPS >= 30
    parameters = {"num_parallel_tree": 3} if "forest" in name else PARAMETERS[name]
    estimator = xgboost.XGBRanker(
        n_estimators=60, n_jobs=1, early_stopping_rounds=3, **parameters
    )
    estimator.fit(X[~late], y[~late], qid=GROUPS[~late], eval_set=[(X[late], y[late])],
                  eval_qid=[GROUPS[late]], verbose=False)  # fmt: skip
    booster, path = estimator.get_booster(), tmp_path / "model.json"
    booster.save_model(path)
    n_parallel = parameters.get("num_parallel_tree", 1)
    for given in (estimator, booster, xgboost.Booster(model_file=path), path):
        model = from_xgboost(given)
        assert model.n_iter_ == n_parallel * (estimator.best_iteration + 1)
        assert_close(model.predict(X), estimator.predict(X))
    n_iterations = booster.num_boosted_rounds()
    assert n_iterations > estimator.best_iteration + 1
    if name != "dart":  # of which XGBoost's slices lose the weights
        assert from_xgboost(booster[:]).n_iter_ == n_parallel * n_iterations
    document = json.loads(path.read_text())
    part = document["learner"]["gradient_booster"]
    part = part.get("gbtree", part)["model"]
    # as versions before 2 write it
    del part["iteration_indptr"]
    old = from_xgboost(json.dumps(document))
    assert_close(old.predict(X), estimator.predict(X))
    del part["gbtree_model_param"]["num_parallel_tree"]
    n_best = str(n_parallel * (estimator.best_iteration + 1))
    document["learner"]["attributes"]["best_ntree_limit"] = n_best
    old = from_xgboost(json.dumps(document))
    assert_close(old.predict(X), estimator.predict(X))
    for wrong in ("900", "x", "-1"):
        document["learner"]["attributes"]["best_iteration"] = wrong
        with pytest.raises(ValueError, match=r"attributes.best_iteration is"):
            from_xgboost(json.dumps(document))


@pytest.mark.parametrize(
    "parameters",
    [
        {"tree_method": "exact", "gamma": 0.5},
        {"tree_method": "exact", "gamma": 0.5, "booster": "dart", "rate_drop": 0.3},
        {"tree_method": "exact", "gamma": 1e6},  # all
    ],
    ids=lambda parameters: ", ".join(map(str, parameters.values())),
)
def test_nodes_that_pruning_has_removed_count_for_nothing(parameters):
    X = np.clip(numbers(), -1e30, 1e30)
    assert_pruned_alike(trained(X, grades(X), parameters), X)


@pytest.mark.parametrize("kind", [numbers, table])
@pytest.mark.parametrize("parameters", [{}, {"booster": "dart", "rate_drop": 0.3}])
def test_a_model_that_xgboost_prunes_later_keeps_its_scores(kind, parameters):
    X = in_float32(kind())
    booster = trained(X, grades(X), parameters)
    prune = {"process_type": "update", "updater": "prune", "gamma": 1.0}
    data = matrix(X)
    data.set_info(label=grades(X), qid=GROUPS)
    options = prune | parameters | {"objective": "rank:ndcg"}
    try:
        booster = xgboost.train(options, data, 10, xgb_model=booster)
    except xgboost.core.XGBoostError as error:  # of newer versions
        assert "weight_drop" in str(error) and parameters["booster"] == "dart"
        pytest.skip("this version of XGBoost updates no trees of dart")
    assert_pruned_alike(booster, X)  # with sets of categories in leaves


def assert_pruned_alike(booster, X):
    text = booster.save_raw("json").decode()
    assert re.search(r'"num_deleted":"[1-9]', text)
    expected = booster.predict(matrix(X), output_margin=True)
    for given in (booster, text, xgboost.Booster(model_file=booster.save_raw("ubj"))):
        model = from_xgboost(given)
        assert_close(model.predict(X), expected)
    assert_close(from_xgboost(to_xgboost(model)).predict(X), expected)


def sparse_rows():
    X = np.clip(numbers(), -1e30, 1e30)
    return np.where(np.isnan(X), 0.0, X), csr_matrix(np.nan_to_num(X))


def test_entries_that_are_not_stored_are_missing_in_a_model_of_xgboost():
    dense, sparse = sparse_rows()
    booster = trained(sparse, grades(numbers()), {})
    model = from_xgboost(booster)
    absent = np.where(dense == 0.0, np.nan, dense)
    assert_close(model.predict(absent), booster.predict(matrix(sparse)))
    on_top = LambdaMARTRanker(**TREES, init=model)
    on_top.fit(dense, grades(numbers()), groups=GROUPS)
    again = [
        from_json(to_json(model)),
        pickle.loads(pickle.dumps(model)),
        from_json(to_json(on_top)),
        from_tree_model(to_tree_model(model)),
    ]
    for one in (model, *again):
        for method in (one.predict, one.apply, partial(shap_values, one)):
            with pytest.raises(ValueError, match=r"X is sparse, but this model comes"):
                method(sparse)
    y = grades(numbers())
    with pytest.raises(ValueError, match="X is sparse, but this model comes"):
        LambdaMARTRanker(**TREES, init=model).fit(sparse, y, groups=GROUPS)
    # a fit of its own forgets it
    assert model.fit(sparse, y, groups=GROUPS).predict(sparse).shape == (len(y),)


def test_a_model_for_sparse_rows_scores_them_in_xgboost_as_here():
    _, sparse = sparse_rows()
    model = LambdaMARTRanker(**TREES).fit(numbers(), grades(numbers()), groups=GROUPS)
    rows = csr_matrix(in_float32(sparse.toarray()))
    expected = model.predict(rows)
    branch, zero = to_xgboost(model), to_xgboost(model, missing="zero")
    assert np.abs(load(branch).predict(matrix(rows)) - expected).max() > 0.01
    assert_close(load(zero).predict(matrix(rows)), expected)
    # missing values go where 0 goes: nothing depends on what is stored
    assert_close(from_xgboost(zero).predict(rows), expected)
    with pytest.raises(
        ValueError, match="missing must be one of .'branch', 'zero'., got 0"
    ):
        to_xgboost(model, missing=0)


@pytest.mark.parametrize("missing", [0.0, -999])
def test_an_estimator_with_another_missing_value_is_refused(missing):
    X = np.nan_to_num(np.clip(numbers(), -1e30, 1e30), nan=missing)
    estimator = xgboost.XGBRanker(n_estimators=5, n_jobs=1, missing=missing)
    estimator.fit(X, grades(numbers()), qid=GROUPS)
    with pytest.raises(ValueError, match=f"takes {missing} for missing"):
        from_xgboost(estimator)
    model = from_xgboost(estimator.get_booster())
    assert_close(model.predict(np.where(missing == X, np.nan, X)), estimator.predict(X))


def test_what_xgboost_has_and_we_have_not_is_refused():
    X = np.clip(numbers(), -1e30, 1e30)
    y = grades(X)
    for parameters, message in (
        ({"booster": "gblinear", "objective": "reg:squarederror"}, "'gblinear'"),
        ({"objective": "multi:softmax", "num_class": 5}, "5 scores or more"),
        ({"objective": "survival:cox"}, "objective 'survival:cox' is not known"),
    ):
        booster = trained(np.nan_to_num(X), y, parameters)
        with pytest.raises(ValueError, match=message):
            from_xgboost(booster)
    binary = load(to_xgboost(MODELS["ranker"])).save_raw("ubj")
    with pytest.raises(ValueError, match="XGBoost's binary JSON, .ubj: save the model"):
        from_xgboost(binary)


def test_text_that_is_not_ascii():
    """Before 3.4, XGBoost counts characters for bytes, and all categories change."""
    X = pd.DataFrame({"a": pd.Categorical(["ä", "b", "c"] * 40)})
    y = np.arange(120) % 3
    model = MARTRegressor(**TREES).fit(X, y)
    with pytest.raises(ValueError, match="'a' has categories that are not ASCII"):
        to_xgboost(model)
    data = xgboost.DMatrix(X, label=y, enable_categorical=True)
    booster = xgboost.train({"verbosity": 0}, data, 1)
    if version_of(xgboost) >= (3, 4):
        assert_close(from_xgboost(booster).predict(X), booster.predict(data))
        return
    with pytest.raises(ValueError, match=r"cats.enc\[0\] holds text that is not ASCII"):
        from_xgboost(booster)


def version_of(library):
    return tuple(map(int, library.__version__.split(".")[:2]))


def test_a_model_of_3_4_with_dropped_trees():
    """Their factors are no longer those of a booster "dart", but of any model."""
    file = json.loads((DATA / "xgboost_3.4.1_rate_drop.json").read_text())
    assert file["model"]["learner"]["gradient_booster"]["name"] == "gbtree"
    model = from_xgboost(json.dumps(file["model"]))
    assert_close(model.predict(file["rows"]), np.array(file["scores"]))
    part = file["model"]["learner"]["gradient_booster"]["model"]
    assert len(set(part["weight_drop"])) > 1
    part["weight_drop"].pop()
    with pytest.raises(ValueError, match="weight_drop has 4 of 5 trees"):
        from_xgboost(json.dumps(file["model"]))


def test_what_xgboost_cannot_hold_is_refused():
    with pytest.raises(ValueError, match="know no categories"):
        to_xgboost_dump(MODELS["categories"])
    X = numbers()
    model = MARTRegressor(n_estimators=2).fit(X, 1e60 * grades(X))
    with pytest.raises(ValueError, match="which float32 cannot hold"):
        to_xgboost(model)


TEXT = to_xgboost(MODELS["categories"])


def changed(*path, value):
    document = json.loads(TEXT)
    part = document["learner"]
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    return json.dumps(document)


MODEL = ("gradient_booster", "model")
FIRST = (*MODEL, "trees", 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TEXT[:-5], "no valid JSON"),
        ("{}", "learner is missing"),
        (changed("learner_model_param", "num_feature", value="9" * 20), "is no number"),
        (changed("learner_model_param", "num_feature", value="99999999"),
         "num_feature is 99999999, and there are 4 feature_names"),
        (changed("learner_model_param", "base_score", value="[1,2]"), "base_score="),
        (changed("learner_model_param", "base_score", value="1_0"), "base_score='1_0'"),
        (changed("objective", "name", value="os"), "objective 'os' is not known"),
        (changed(*FIRST, "left_children", 0, value=0),
         r"trees\[0\]: node 0 is a child t"),
        (changed(*FIRST, "left_children", 0, value=-9),
         r"trees\[0\]: node -9 is a child"),
        (changed(*FIRST, "left_children", 0, value=-1),
         r"trees\[0\]: node 0 has one chi"),
        (changed(*FIRST, "default_left", 0, value=7),
         r"default_left\[0\] must be 0 or 1"),
        (changed(*FIRST, "split_indices", 0, value=4), "none of 4"),
        (changed(*FIRST, "sum_hessian", value=[]), "sum_hessian has 0 of"),
        (changed(*FIRST, "split_conditions", 1, value="x"),
         r"split_conditions\[1\] must"),
        (changed(*FIRST, "categories_sizes", value=[2**40]), "categories_... do not"),
        (changed(*FIRST, "categories", 0, value=2**50), "codes that are not from 0"),
        (changed(*MODEL, "cats", "enc", value=[{"values": [1], "type": 1}] * 4),
         "fewer than its trees test"),
        (changed(*MODEL, "tree_info", 0, value=1), "2 scores or more"),
        (changed(*MODEL, "trees", value=[]), "has no trees"),
    ],
)  # fmt: skip
def test_a_damaged_text_is_refused_and_says_where(text, message):
    with pytest.raises(ValueError, match=message):
        from_xgboost(text)
