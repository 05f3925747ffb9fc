"""Every row of the tables of "Coming from ..." is run, in the peer as well.

A row has the settings of the peer and ours, and a check of both models where more can
be said than that both accept them.  The columns of defaults are compared with what a
fitted model of the peer says of itself, and with our signatures.
"""

from __future__ import annotations

import inspect
import json
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.export import (
    from_catboost,
    from_lightgbm,
    from_xgboost,
    to_lightgbm,
    to_xgboost,
)
from sklearn_ltr.inspection import shap_values, split_counts, trees_to_dataframe
from sklearn_ltr.metrics import NDCG
from tests import coming_from

pytestmark = [
    # LightGBM before 4.6 beside scikit-learn from 1.6 on
    pytest.mark.filterwarnings("ignore:'force_all_finite' was renamed:FutureWarning"),
    pytest.mark.filterwarnings("ignore:The .* use `_get_tags`:FutureWarning"),
]

DATA = make_ranking(40, n_features=6, n_informative=4, random_state=0)
X, Y, GROUPS = DATA.data, DATA.target, DATA.groups  # rows of a query are consecutive
X = np.c_[X, np.arange(len(X)) % 12]  # the last column is a category
SIZES = np.unique(GROUPS, return_counts=True)[1]
N_TREES = 4
POSITIONS = np.concatenate([np.arange(size) for size in SIZES])
BASE = (np.arange(len(X)) % 3).astype(float)


class Row(NamedTuple):
    theirs: dict[str, Any] = {}
    ours: dict[str, Any] = {}
    check: Callable[..., None] | None = None
    their_fit: dict[str, Any] = {}
    our_fit: dict[str, Any] = {}


def centred(scores, grades, offsets):
    sizes = np.diff(offsets)
    mean = np.add.reduceat(scores - grades, offsets[:-1]) / sizes
    return scores - grades - np.repeat(mean, sizes), np.ones(len(scores))


# --- checks of both models: `leaves` has the leaf of each row in each tree ---------


def counts_splits(leaves, model):
    """Leaves of a tree are one more than its splits."""
    is_ours = isinstance(model, LambdaMARTRanker)
    counts = split_counts(model) if is_ours else model.feature_importances_
    n_leaves = [len(np.unique(column)) for column in leaves.T]
    assert sum(counts) == sum(n_leaves) - len(n_leaves) > 0


def has_a_table(leaves, model):
    is_ours = isinstance(model, LambdaMARTRanker)
    table = (
        trees_to_dataframe(model) if is_ours else model.booster_.trees_to_dataframe()
    )
    n_leaves = sum(len(np.unique(column)) for column in leaves.T)
    assert len(table) == 2 * n_leaves - leaves.shape[1]


def shares_splits(model):
    is_ours = isinstance(model, LambdaMARTRanker)
    counts = split_counts(model) if is_ours else model.feature_importances_
    total = counts.sum() if is_ours else 1
    assert (counts / total).sum() == pytest.approx(1)


def at_most_5_leaves(leaves, model):
    assert all(len(np.unique(column)) <= 5 for column in leaves.T)


def at_most_4_leaves(leaves, model):
    assert all(len(np.unique(column)) <= 4 for column in leaves.T)


def at_least_100_rows_in_a_leaf(leaves, model):
    if not isinstance(model, LambdaMARTRanker):
        return  # LightGBM estimates rows from hessians, CatBoost counts before a split
    counts = [np.unique(column, return_counts=True)[1] for column in leaves.T]
    assert min(map(min, counts)) >= 100


def this_many_trees(leaves, model):
    assert leaves.shape[1] == N_TREES


def increasing(leaves, model):
    grid = np.repeat(X[:50], 9, axis=0)
    grid[:, 0] = np.tile(np.linspace(-3, 3, 9), 50)
    assert (np.diff(model.predict(grid).reshape(50, 9)) >= -1e-6).all()


def stopped_or_not(leaves, model):
    assert leaves.shape[1] <= N_TREES


def ours(model):
    return isinstance(model, LambdaMARTRanker)


def kept_trees(leaves, model):
    """The numbers that are said to be the same: of the best curve's value, from 1."""
    if ours(model):
        (curve,) = model.evals_result_["validation"].values()
        assert model.n_iter_ == leaves.shape[1] == max(1, np.argmax(curve))
    elif hasattr(model, "best_iteration_"):  # LightGBM
        curve = model.evals_result_["valid_0"]["ndcg@10"]
        assert model.best_iteration_ - 1 == np.argmax(curve)
    else:
        curve = next(iter(model.evals_result()["validation_0"].values()))
        assert model.best_iteration == np.argmax(curve)


def has(model, our_attribute, their_attribute):
    """Both models have what the page names, a value that is not None."""
    found = getattr(model, our_attribute if ours(model) else their_attribute)
    assert (found() if callable(found) else found) is not None


def is_saved(model):
    """A file of the peer is what `to_lightgbm` and `to_xgboost` are read as."""
    if ours(model):
        lightgbm, xgboost = peer("lightgbm"), peer("xgboost")
        again = lightgbm.Booster(model_str=to_lightgbm(model))
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        again = xgboost.Booster()
        again.load_model(bytearray(to_xgboost(model), "utf-8"))
        scores = again.predict(xgboost.DMatrix(X))
        np.testing.assert_allclose(scores, model.predict(X), atol=1e-5)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.json")
        getattr(model, "booster_", model).save_model(path)
        assert path.stat().st_size > 0


def two_bins(leaves, model):
    """Two bins of each of seven columns are at most 2^7 kinds of rows."""
    assert len(np.unique(model.predict(X))) <= 128


OUR_VALIDATION = {"X_val": X, "y_val": Y, "groups_val": GROUPS}
FIVE_LEAVES = {"max_leaf_nodes": 5, "grow_policy": "best_first"}
SAME_FOR_ALL = {
    "max_depth": Row({"max_depth": 2}, {"max_depth": 2}, at_most_4_leaves),
    "learning_rate": Row({"learning_rate": 0.2}, {"learning_rate": 0.2}),
    "n_estimators":
        Row({"n_estimators": N_TREES}, {"n_estimators": N_TREES}, this_many_trees),
    "monotone": Row(
        {"monotone_constraints": [1, 0, 0, 0, 0, 0, 0]},
        {"monotonic_cst": [1, 0, 0, 0, 0, 0, 0]},
        increasing,
    ),
    "l2": {"l2_regularization": 5.0},
    "seed": Row({"random_state": 3, "n_jobs": 1}, {"random_state": 3, "n_jobs": 1}),
    "base": {"init_score": BASE},
}  # fmt: skip
GAIN = [0.0, 1.0, 3.0, 7.0, 15.0]
LIGHTGBM = {
    "`objective`": Row({"objective": "lambdarank"}, {"objective": "lambdarank"}),
    '`objective="rank_xendcg"`':
        Row({"objective": "rank_xendcg"}, {"objective": centred}),
    '`metric="ndcg"`, `eval_at=[10]`': Row(
        {"metric": "ndcg"},
        {"metric": "ndcg@10"},
        their_fit={
            "eval_X": X,
            "eval_y": Y,
            "eval_group": [SIZES],
            "eval_at": [10],
        },
    ),
    "`lambdarank_truncation_level`":
        Row({"lambdarank_truncation_level": 5}, {"truncation_level": 5}),
    "`lambdarank_norm`": Row({"lambdarank_norm": False}, {"normalize_lambdas": False}),
    "`sigmoid`": Row({"sigmoid": 2.0}, {"sigma": 2.0}),
    "`label_gain=[...]`": Row({"label_gain": GAIN}, {"metric": NDCG(10, gain=GAIN)}),
    "`n_estimators`, `num_iterations`": SAME_FOR_ALL["n_estimators"],
    "`learning_rate`": SAME_FOR_ALL["learning_rate"],
    "`num_leaves`": Row({"num_leaves": 5}, FIVE_LEAVES, at_most_5_leaves),
    "`max_depth`": SAME_FOR_ALL["max_depth"],
    "`min_child_samples`, `min_data_in_leaf`": Row(
        {"min_child_samples": 100},
        {"min_samples_leaf": 100, "subsample": 1.0},
        at_least_100_rows_in_a_leaf,
    ),
    "`reg_lambda`, `lambda_l2`": Row({"reg_lambda": 5.0}, SAME_FOR_ALL["l2"]),
    "`path_smooth`": Row({"path_smooth": 9.0}, {"path_smooth": 9.0}),
    '`boosting="dart"`, `drop_rate`, `skip_drop`, `max_drop`': Row(
        {"boosting": "dart", "drop_rate": 0.5, "skip_drop": 0.1, "max_drop": 2},
        {"dart": {"rate_drop": 0.5, "skip_drop": 0.1, "max_drop": 2}},
        this_many_trees,
    ),
    "`uniform_drop`, `xgboost_dart_mode`": Row(
        {"boosting": "dart", "uniform_drop": True, "xgboost_dart_mode": True},
        {"dart": 0.1},
    ),
    "`max_bin`": Row({"max_bin": 2}, {"max_bins": 2}, two_bins),
    "`colsample_bytree`, `feature_fraction`":
        Row({"colsample_bytree": 0.5}, {"colsample_bytree": 0.5}),
    "`feature_fraction_bynode`":
        Row({"feature_fraction_bynode": 0.5}, {"max_features": 0.5}),
    '`data_sample_strategy="goss"`, `top_rate`, `other_rate`': Row(
        {"data_sample_strategy": "goss", "top_rate": 0.1, "other_rate": 0.1},
        {"subsample": 0.5},
    ),
    "`categorical_feature`":
        Row({}, {"categorical_features": [6]}, their_fit={"categorical_feature": [6]}),
    "`cat_smooth`": Row(
        {"cat_smooth": 5.0},
        {"category_smoothing": 5.0, "categorical_features": [6]},
        their_fit={"categorical_feature": [6]},
    ),
    "`min_data_per_group`": Row(
        {"min_data_per_group": 5},
        {"min_samples_leaf": 5, "categorical_features": [6]},
        their_fit={"categorical_feature": [6]},
    ),
    "`max_cat_threshold`": Row({}, their_fit={"categorical_feature": [6]}),
    "`enable_bundle`, `is_enable_sparse`":
        Row({"enable_bundle": False, "is_enable_sparse": False}),
    "`monotone_constraints`": SAME_FOR_ALL["monotone"],
    "`interaction_constraints`": Row(
        {"interaction_constraints": [[0, 1], [2, 3, 4, 5, 6]]},
        {"interaction_cst": [{0, 1}, {2, 3, 4, 5, 6}]},
    ),
    "`fit(..., init_score=...)`":
        Row(their_fit=SAME_FOR_ALL["base"], our_fit=SAME_FOR_ALL["base"]),
    "`fit(..., init_model=...)`": Row(
        their_fit={"init_model": lambda: lightgbm_fit(Row())},
        ours={"init": LambdaMARTRanker(n_estimators=2)},
    ),
    "`Dataset(position=...)`": Row(
        {},
        {"position_bias": "additive"},
        this_many_trees,
        {"position": POSITIONS},
        {"positions": POSITIONS},
    ),
    "`lambdarank_position_bias_regularization=0.5`": Row(
        {"lambdarank_position_bias_regularization": 0.5},
        {"position_bias": {"method": "additive", "regularization": 0.5}},
        this_many_trees,
        {"position": POSITIONS},
        {"positions": POSITIONS},
    ),
    "`fit(..., eval_X=, eval_y=, eval_group=)`, `early_stopping(20)`": Row(
        {},
        {"n_iter_no_change": 20},
        stopped_or_not,
        {
            "eval_X": X,
            "eval_y": Y,
            "eval_group": [SIZES],
            "callbacks": lambda: [peer("lightgbm").early_stopping(20, verbose=False)],
        },
        OUR_VALIDATION,
    ),
    "`log_evaluation(10)`": Row(
        {},
        {"verbose": 1},
        None,
        {
            "eval_X": X,
            "eval_y": Y,
            "eval_group": [SIZES],
            "callbacks": lambda: [peer("lightgbm").log_evaluation(10)],
        },
        OUR_VALIDATION,
    ),
    "`reset_parameter(learning_rate=...)`": Row(
        {},
        {"learning_rate": lambda tree: 0.1 / (1 + tree)},
        their_fit={
            "callbacks": lambda: [
                peer("lightgbm").reset_parameter(
                    learning_rate=lambda tree: 0.1 / (1 + tree)
                )
            ]
        },
    ),
    "`evals_result_`": Row(
        {},
        {},
        lambda leaves, model: next(iter(model.evals_result_.values())),
        {"eval_X": X, "eval_y": Y, "eval_group": [SIZES]},
        OUR_VALIDATION,
    ),
    "`best_iteration_`": Row(
        {},
        {},
        lambda leaves, model: kept_trees(leaves, model),
        {
            "eval_X": X,
            "eval_y": Y,
            "eval_group": [SIZES],
            "eval_at": [10],
            "callbacks": lambda: [peer("lightgbm").early_stopping(1, verbose=False)],
        },
        OUR_VALIDATION,
    ),
    "`predict(pred_contrib=True)`": Row(check=lambda leaves, model: sums(model)),
    "`predict(pred_leaf=True)`": Row(check=this_many_trees),
    "`best_score_`": Row(
        {},
        {},
        lambda leaves, model: has(model, "validation_score_", "best_score_"),
        {
            "eval_X": X,
            "eval_y": Y,
            "eval_group": [SIZES],
            "callbacks": lambda: [peer("lightgbm").early_stopping(1, verbose=False)],
        },
        OUR_VALIDATION,
    ),
    "`feature_name_`, `n_features_`": Row(
        check=lambda leaves, model: has(model, "n_features_in_", "n_features_")
    ),
    "`booster_.save_model(path)`": Row(check=lambda leaves, model: is_saved(model)),
    "a trained booster":
        Row(check=lambda leaves, model: comes_in(model, from_lightgbm) ),
    "`random_state`, `n_jobs`": SAME_FOR_ALL["seed"],
    "`feature_importances_` (splits)":
        Row(check=lambda leaves, model: counts_splits(leaves, model)),
    '`importance_type="gain"`': Row(
        {"importance_type": "gain"},
        check=lambda leaves, model: model.feature_importances_[0],
    ),
    "`booster_.trees_to_dataframe()`, `plot_tree`": Row(
        check=lambda leaves, model: has_a_table(leaves, model)
    ),
}  # fmt: skip
XGBOOST = {
    '`objective="rank:ndcg"`': Row({"objective": "rank:ndcg"}, {"metric": "ndcg"}),
    '`objective="rank:map"`': Row({"objective": "rank:map"}, {"metric": "map"}),
    '`objective="rank:pairwise"`':
        Row({"objective": "rank:pairwise"}, {"metric": None}),
    '`eval_metric="ndcg@10"`': Row({"eval_metric": "ndcg@10"}, {"scoring": "ndcg@10"}),
    '`lambdarank_pair_method="topk"`, `lambdarank_num_pair_per_sample=30`': Row(
        {"lambdarank_pair_method": "topk", "lambdarank_num_pair_per_sample": 30},
        {"truncation_level": 30},
    ),
    "`lambdarank_normalization`":
        Row({"lambdarank_normalization": False}, {"normalize_lambdas": "distance"}),
    "`lambdarank_score_normalization`":
        Row({"lambdarank_score_normalization": False}, {"normalize_lambdas": "query"}),
    "`ndcg_exp_gain=False`":
        Row({"ndcg_exp_gain": False}, {"metric": NDCG(10, gain="linear")}),
    "`n_estimators`": SAME_FOR_ALL["n_estimators"],
    "`learning_rate`, `eta`": SAME_FOR_ALL["learning_rate"],
    "`max_depth`": SAME_FOR_ALL["max_depth"],
    '`max_leaves` with `grow_policy="lossguide"`': Row(
        {"max_leaves": 5, "grow_policy": "lossguide", "max_depth": 0},
        FIVE_LEAVES,
        at_most_5_leaves,
    ),
    "`min_child_weight` (a sum of hessians)":
        Row({"min_child_weight": 5.0}, {"min_samples_leaf": 100}),
    "`reg_lambda`": Row({"reg_lambda": 5.0}, SAME_FOR_ALL["l2"]),
    '`booster="dart"` (before 3.4), `rate_drop`, `skip_drop`': Row(
        {"booster": "dart", "rate_drop": 0.5, "skip_drop": 0.1, "verbosity": 0},
        {"dart": {"rate_drop": 0.5, "skip_drop": 0.1}},
        this_many_trees,
    ),
    "`one_drop`, `sample_type`, `normalize_type`": Row(
        {"booster": "dart", "rate_drop": 0.5, "one_drop": False, "verbosity": 0,
         "sample_type": "uniform", "normalize_type": "tree"},
        {"dart": 0.5},
    ),
    "`max_bin`": Row({"max_bin": 2}, {"max_bins": 2}, two_bins),
    "`colsample_bytree`": Row({"colsample_bytree": 0.5}, {"colsample_bytree": 0.5}),
    "`colsample_bynode`": Row({"colsample_bynode": 0.5}, {"max_features": 0.5}),
    "`subsample` (rows drawn alike)": Row({"subsample": 0.5}, {"subsample": 0.5}),
    "`enable_categorical=True`": Row(
        {"enable_categorical": True, "feature_types": ["q"] * 6 + ["c"]},
        {"categorical_features": [6]},
    ),
    "`monotone_constraints`": Row(
        {"monotone_constraints": (1, 0, 0, 0, 0, 0, 0)},
        {"monotonic_cst": [1, 0, 0, 0, 0, 0, 0]},
        increasing,
    ),
    "`interaction_constraints`": Row(
        {"interaction_constraints": "[[0, 1], [2, 3, 4, 5, 6]]"},
        {"interaction_cst": [{0, 1}, {2, 3, 4, 5, 6}]},
    ),
    "`fit(..., base_margin=...)`":
        Row(their_fit={"base_margin": BASE}, our_fit=SAME_FOR_ALL["base"]),
    "`lambdarank_unbiased=True` (positions are the order of the rows)": Row(
        {"lambdarank_unbiased": True},
        {"position_bias": "pairwise"},
        this_many_trees,
        our_fit={"positions": POSITIONS},
    ),
    "`lambdarank_bias_norm=1`": Row(
        {"lambdarank_unbiased": True, "lambdarank_bias_norm": 1},
        {"position_bias": {"method": "pairwise", "regularization": 1}},
        this_many_trees,
        our_fit={"positions": POSITIONS},
    ),
    "`fit(..., eval_set=, eval_qid=)`, `early_stopping_rounds=20`": Row(
        {"early_stopping_rounds": 20},
        {"n_iter_no_change": 20},
        stopped_or_not,
        {"eval_set": [(X, Y)], "eval_qid": [GROUPS], "verbose": False},
        OUR_VALIDATION,
    ),
    "`verbosity`, `fit(..., verbose=10)`": Row(
        {"verbosity": 1},
        {"verbose": 1},
        None,
        {"eval_set": [(X, Y)], "eval_qid": [GROUPS], "verbose": 10},
        OUR_VALIDATION,
    ),
    "`evals_result()`": Row(
        {},
        {},
        lambda leaves, model: (
            model.evals_result_ if ours(model) else model.evals_result()
        ),
        {"eval_set": [(X, Y)], "eval_qid": [GROUPS], "verbose": False},
        OUR_VALIDATION,
    ),
    "`best_iteration`, from 0": Row(
        {"early_stopping_rounds": 1},
        {},
        lambda leaves, model: kept_trees(leaves, model),
        {"eval_set": [(X, Y)], "eval_qid": [GROUPS], "verbose": False},
        OUR_VALIDATION,
    ),
    "`best_score`": Row(
        {"early_stopping_rounds": 1},
        {},
        lambda leaves, model: has(model, "validation_score_", "best_score"),
        {"eval_set": [(X, Y)], "eval_qid": [GROUPS], "verbose": False},
        OUR_VALIDATION,
    ),
    "`num_features()` of the booster": Row(
        check=lambda leaves, model: has(
            model if ours(model) else model.get_booster(),
            "n_features_in_",
            "num_features",
        )
    ),
    "`save_model(path)`": Row(check=lambda leaves, model: is_saved(model)),
    '`importance_type="gain"`': Row(
        {"importance_type": "gain"},
        check=lambda leaves, model: model.feature_importances_[0],
    ),
    '`importance_type="weight"`': Row(
        {"importance_type": "weight"},
        check=lambda leaves, model: shares_splits(model),
    ),
    "`predict(pred_contribs=True)` of the booster":
        Row(check=lambda leaves, model: sums(model) ),
    "`apply`": Row(check=this_many_trees),
    "a trained booster": Row(check=lambda leaves, model: comes_in(model, from_xgboost)),
    "`random_state`, `n_jobs`": SAME_FOR_ALL["seed"],
}  # fmt: skip
LOSSGUIDE = {"grow_policy": "Lossguide"}
CATBOOST = {
    '`loss_function="YetiRank"`': Row({"loss_function": "YetiRank"}, {}),
    '`loss_function="LambdaMart"`':
        Row({"loss_function": "LambdaMart"}, {}),
    '`loss_function="PairLogit"`':
        Row({"loss_function": "PairLogit"}, {"metric": None}),
    '`loss_function="QueryRMSE"`':
        Row({"loss_function": "QueryRMSE"}, {"regression_weight": 100.0}),
    "`iterations`":
        Row({"iterations": N_TREES}, {"n_estimators": N_TREES}, this_many_trees),
    "`learning_rate`": SAME_FOR_ALL["learning_rate"],
    '`grow_policy="SymmetricTree"`': Row(
        {"grow_policy": "SymmetricTree"}, {"grow_policy": "symmetric"}
    ),
    "`depth` (symmetric)": Row({"depth": 2}, {"max_depth": 2}, at_most_4_leaves),
    '`max_leaves` with `grow_policy="Lossguide"`':
        Row(LOSSGUIDE | {"max_leaves": 5}, FIVE_LEAVES, at_most_5_leaves),
    '`min_data_in_leaf` with `grow_policy="Lossguide"`': Row(
        LOSSGUIDE | {"min_data_in_leaf": 100},
        {"min_samples_leaf": 100, "subsample": 1.0},
        at_least_100_rows_in_a_leaf,
    ),
    "`l2_leaf_reg`": Row({"l2_leaf_reg": 5.0}, SAME_FOR_ALL["l2"]),
    '`subsample` with `bootstrap_type="MVS"`': Row(
        {"subsample": 0.5, "bootstrap_type": "MVS"}, {"subsample": 0.5}
    ),
    "`rsm`": Row({"rsm": 0.5}, {"max_features": 0.5}),
    "`border_count`": Row({"border_count": 1}, {"max_bins": 2}, two_bins),
    "`cat_features`":
        Row({}, {"categorical_features": [6]}, their_fit={"cat_features": [6]}),
    "`monotone_constraints`": SAME_FOR_ALL["monotone"],
    "`Pool(..., baseline=...)`":
        Row(their_fit={"baseline": BASE}, our_fit=SAME_FOR_ALL["base"]),
    "`Pool(..., group_weight=...)`": Row(
        their_fit={"group_weight": 1.0 + GROUPS % 2},
        our_fit={"sample_weight": 1.0 + GROUPS % 2},
    ),
    '`fit(..., eval_set=)`, `od_type="Iter"`, `od_wait=20`': Row(
        {"od_type": "Iter", "od_wait": 20},
        {"n_iter_no_change": 20},
        stopped_or_not,
        {"eval_set": True},
        OUR_VALIDATION,
    ),
    "`get_feature_importance()`": Row(
        check=lambda leaves, model: has(
            model, "feature_importances_", "feature_importances_"
        )
    ),
    '`get_feature_importance(type="ShapValues")`':
        Row(check=lambda leaves, model: sums(model) ),
    "`best_iteration_`, from 0; `tree_count_`": Row(
        check=lambda leaves, model: has(model, "n_iter_", "tree_count_")
    ),
    "`get_best_score()`": Row(
        {},
        {},
        lambda leaves, model: has(model, "validation_score_", "get_best_score"),
        {"eval_set": True},
        OUR_VALIDATION,
    ),
    "`get_evals_result()`": Row(
        {},
        {},
        lambda leaves, model: has(model, "evals_result_", "get_evals_result"),
        {"eval_set": True},
        OUR_VALIDATION,
    ),
    "`feature_names_`": Row(
        check=lambda leaves, model: has(model, "n_features_in_", "feature_names_")
    ),
    "`calc_leaf_indexes`": Row(check=this_many_trees),
    "a trained model of symmetric trees":
        Row(check=lambda leaves, model: comes_in(model, from_catboost) ),
    "`random_seed`, `thread_count`":
        Row({"random_seed": 3, "thread_count": 1}, {"random_state": 3, "n_jobs": 1}),
}  # fmt: skip


# --- fits of the peers ------------------------------------------------------------


def peer(name: str) -> Any:
    return pytest.importorskip(name)


def called(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return arguments whose values may need the peer, which may not be installed."""
    return {k: v() if callable(v) else v for k, v in arguments.items()}


def lightgbm_fit(row: Row) -> Any:
    settings = {"n_estimators": N_TREES, "min_child_samples": 20, "verbose": 0}
    if "position" in row.their_fit:  # which its scikit-learn class has not
        rows = peer("lightgbm").Dataset(X, Y, group=SIZES, **row.their_fit)
        settings["objective"] = "lambdarank"
        return peer("lightgbm").train(settings | row.theirs, rows)
    ranker = peer("lightgbm").LGBMRanker(**settings | row.theirs)
    given = called(row.their_fit)
    if "eval_X" in given and not takes_eval_X(ranker):
        given["eval_set"] = [(given.pop("eval_X"), given.pop("eval_y"))]
    return ranker.fit(X, Y.astype(int), group=SIZES, **given)


def takes_eval_X(ranker) -> bool:
    """Whether this is LightGBM 4.7 or newer, which warns of `eval_set`."""
    return "eval_X" in inspect.signature(ranker.fit).parameters


def xgboost_fit(row: Row) -> Any:
    ranker = peer("xgboost").XGBRanker(**{"n_estimators": N_TREES} | row.theirs)
    binary = row.theirs.get("objective") == "rank:map"  # all that it accepts
    return ranker.fit(X, Y > 0 if binary else Y, qid=GROUPS, **row.their_fit)


def catboost_fit(row: Row) -> Any:
    catboost = peer("catboost")
    quiet = {"verbose": False, "allow_writing_files": False, "iterations": N_TREES}
    ranker = catboost.CatBoostRanker(**quiet | row.theirs)
    fit = dict(row.their_fit)
    frame = X.astype(object) if "cat_features" in fit else X
    if "cat_features" in fit:
        frame[:, 6] = frame[:, 6].astype(int)
    validates = fit.pop("eval_set", False)
    pool = catboost.Pool(frame, Y, group_id=GROUPS, **fit)
    return ranker.fit(pool, eval_set=pool if validates else None)


def leaves_of(model: Any) -> Any:
    if hasattr(model, "calc_leaf_indexes"):
        return model.calc_leaf_indexes(X)
    if hasattr(model, "apply"):
        return model.apply(X)
    return model.predict(X, pred_leaf=True)


def sums(model: Any) -> None:
    """Check that what each feature adds, and the bias, sum to the score."""
    if isinstance(model, LambdaMARTRanker):
        explained = shap_values(model, X)
        parts = np.c_[explained.values, np.full(len(X), explained.bias)]
    elif hasattr(model, "booster_"):
        parts = model.predict(X, pred_contrib=True)
    elif hasattr(model, "get_booster"):
        data = peer("xgboost").DMatrix(X)
        parts = model.get_booster().predict(data, pred_contribs=True)
    else:
        data = peer("catboost").Pool(X, Y, group_id=GROUPS)
        parts = model.get_feature_importance(data, type="ShapValues")
    # XGBoost computes in single precision
    np.testing.assert_allclose(parts.sum(axis=1), model.predict(X), atol=1e-5)


def comes_in(model: Any, read: Callable[[Any], Any]) -> None:
    if isinstance(model, LambdaMARTRanker):
        return
    theirs = getattr(model, "booster_", model)
    theirs = model.get_booster() if hasattr(model, "get_booster") else theirs
    single = X.astype(np.float32)
    # XGBoost computes in single precision
    np.testing.assert_allclose(
        read(theirs).predict(single), model.predict(single), atol=1e-5
    )


# --- what the peers say of their defaults ------------------------------------------


def lightgbm_defaults() -> dict[str, str]:
    text = (
        peer("lightgbm")
        .LGBMRanker(verbose=-1)
        .fit(X, Y.astype(int), group=SIZES)
        .booster_.model_to_string()
    )
    return dict(re.findall(r"^\[(\w+): (.*)\]$", text, flags=re.M))


def xgboost_defaults() -> dict[str, str]:
    ranker = peer("xgboost").XGBRanker().fit(X, Y, qid=GROUPS)
    found = {"n_estimators": str(ranker.get_num_boosting_rounds())}
    todo = [json.loads(ranker.get_booster().save_config())]
    while todo:
        for name, value in todo.pop().items():
            if isinstance(value, str):
                found[name] = value
            todo += [v for v in [value] if isinstance(v, dict)]
    found["learning_rate"] = f"{float(found['learning_rate']):.7g}"
    return found


def catboost_defaults() -> dict[str, str]:
    models = [
        catboost_fit(Row({"iterations": None})),
        catboost_fit(Row({"bootstrap_type": "MVS"})),
        catboost_fit(Row(LOSSGUIDE)),
    ]
    sampled, leafwise = (model.get_all_params() for model in models[1:])
    found = models[0].get_all_params()
    found["subsample"] = sampled["subsample"]
    found["max_leaves"] = leafwise["max_leaves"]
    # numbers are float32 there; what is left of 0 is 1e-20
    return {
        name: f"{round(value, 6):g}" if isinstance(value, float) else str(value)
        for name, value in found.items()
    }


PAGES = {
    "lightgbm": (LIGHTGBM, lightgbm_fit, lightgbm_defaults),
    "xgboost": (XGBOOST, xgboost_fit, xgboost_defaults),
    "catboost": (CATBOOST, catboost_fit, catboost_defaults),
}
CASES = [
    pytest.param(name, cell, id=f"{name}: {cell}")
    for name, (rows, _, _) in PAGES.items()
    for cell in rows
]


def names_in(cell: str) -> list[str]:
    return re.findall(r"`(\w+)", cell)


@pytest.mark.parametrize("page", PAGES)
def test_the_rows_are_those_of_the_page(page):
    assert [row[0] for row in coming_from.rows(page)] == list(PAGES[page][0])


@pytest.mark.slow
@pytest.mark.parametrize(("page", "cell"), CASES)
def test_both_libraries_accept_the_row_and_do_what_it_says(page, cell, capfd):
    rows, fit, _ = PAGES[page]
    row = rows[cell]
    ours = LambdaMARTRanker(**{"n_estimators": N_TREES, "random_state": 0} | row.ours)
    ours.fit(X, Y, groups=GROUPS, **row.our_fit)
    if row.check:
        row.check(ours.apply(X), ours)
    theirs = fit(row)
    if row.check:
        row.check(leaves_of(theirs), theirs)
    assert "Unknown parameter" not in capfd.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_the_defaults_of_the_peer_are_those_of_the_page(page):
    defaults = PAGES[page][2]()
    for cell, default, _, _ in coming_from.rows(page):
        if default:
            known = [name for name in names_in(cell) if name in defaults]
            assert known, cell
            assert default.split(",")[0].strip("`") == defaults[known[0]], cell


@pytest.mark.parametrize("page", PAGES)
def test_our_defaults_are_those_of_the_page(page):
    signature = inspect.signature(LambdaMARTRanker).parameters
    for _, _, cell, default in coming_from.rows(page):
        known = [name for name in names_in(cell) if name in signature]
        if default:
            assert {str(signature[name].default) for name in known} == {
                default.strip("`")
            }, cell
        else:  # a value is chosen, or it is no parameter of the ranker
            assert not known or "=" in cell or cell.endswith(")"), cell


@pytest.mark.slow
@pytest.mark.parametrize("page", ["lightgbm", "xgboost"])
def test_the_script_of_the_peer_runs_on_the_frame_of_ours(page, tmp_path, monkeypatch):
    library = peer(page)
    if page == "lightgbm" and not takes_eval_X(library.LGBMRanker()):
        pytest.skip("eval_X is of LightGBM 4.7")
    monkeypatch.chdir(tmp_path)
    text = coming_from.text(page)
    (theirs,) = re.findall(r"^```py\n(.*?)^```", text, flags=re.M | re.S)
    setup = re.findall(r"^```python\n(.*?)^```", text, flags=re.M | re.S)[:2]
    names: dict[str, Any] = {}
    for block in (*setup, theirs):
        exec(block, names)
    assert len(names["scores"]) == len(names["valid"])


# --- what the pages say below their tables -----------------------------------------


def within_queries(scores):
    """Subtract the mean of each query, which changes no ranking."""
    return scores - np.repeat(
        np.add.reduceat(scores, np.cumsum(SIZES) - SIZES) / SIZES, SIZES
    )


def test_without_what_our_defaults_add_scores_are_close_to_those_of_lightgbm():
    theirs = lightgbm_fit(Row({"n_estimators": 30, "verbose": -1})).predict(X)
    alike = {"subsample": 1.0, "regression_weight": 0.0, "grow_policy": "best_first"}
    found = [
        LambdaMARTRanker(n_estimators=30, random_state=0, **options)
        .fit(X, Y, groups=GROUPS)
        .predict(X)
        for options in ({}, alike)
    ]
    apart, close = (
        np.corrcoef(within_queries(theirs), within_queries(ours))[0, 1]
        for ours in found
    )
    assert close > max(0.95, apart)  # 0.97 and 0.95


def test_leaves_of_lightgbm_may_have_fewer_rows_than_its_parameter_says():
    theirs = lightgbm_fit(Row({"n_estimators": 30, "verbose": -1}))
    counts = [np.unique(c, return_counts=True)[1] for c in leaves_of(theirs).T]
    assert min(map(min, counts)) < 20  # the default of min_data_in_leaf


def test_a_model_of_catboost_depends_on_the_order_of_rows_and_ours_does_not():
    catboost = peer("catboost")
    quiet = {"verbose": False, "allow_writing_files": False, "iterations": N_TREES}
    order = np.argsort(-GROUPS, kind="stable")  # whole queries, the last one first

    def theirs(rows):
        pool = catboost.Pool(X[rows], Y[rows], group_id=GROUPS[rows])
        return catboost.CatBoostRanker(**quiet, random_seed=0).fit(pool).predict(X)

    def ours(rows):
        ranker = LambdaMARTRanker(n_estimators=N_TREES, random_state=0)
        return ranker.fit(X[rows], Y[rows], groups=GROUPS[rows]).predict(X)

    rows = np.arange(len(X))
    assert (theirs(rows) != theirs(order)).any()
    np.testing.assert_array_equal(ours(rows), ours(order))


@pytest.mark.parametrize("save_best", [False, True])
def test_xgboost_keeps_the_trees_after_the_best_unless_it_is_told_not_to(save_best):
    xgboost = peer("xgboost")
    stop = xgboost.callback.EarlyStopping(rounds=3, save_best=save_best)
    settings = {"n_estimators": 200, "eval_metric": "ndcg@10", "callbacks": [stop]}
    train, valid = GROUPS < 30, GROUPS >= 30
    ranker = xgboost.XGBRanker(**settings).fit(
        X[train], Y[train], qid=GROUPS[train], verbose=False,
        eval_set=[(X[valid], Y[valid])], eval_qid=[GROUPS[valid]],
    )  # fmt: skip
    kept, best = ranker.get_booster().num_boosted_rounds(), ranker.best_iteration + 1
    assert kept == best + (0 if save_best else 3)
    first = {"iteration_range": (0, best)}
    np.testing.assert_array_equal(ranker.predict(X), ranker.predict(X, **first))
