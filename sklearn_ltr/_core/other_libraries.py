"""What other libraries call arguments, attributes and functions, and their names here.

People who come from LightGBM, XGBoost or CatBoost type the names of these libraries;
errors for unknown names read these tables.  The tests compare the tables of the pages
"Coming from ..." of the documentation with them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any


def by_name(rows: Mapping[str, str]) -> dict[str, str]:
    """Return a row for each name; keys of `rows` have several, with spaces between."""
    return {name: here for names, here in rows.items() for name in names.split()}


def with_advice(rows: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return, of each name, the name here, or "", and the text behind it."""
    parts = {name: here.partition(": ") for name, here in by_name(rows).items()}
    return {
        name: ("" if ours == "none" else ours, how)
        for name, (ours, _, how) in parts.items()
    }


# "NAME: TEXT", or NAME alone: the name here, or names with spaces between, and how to
# convert values, or what it is; "none: TEXT": what to do.

_SIZES = (
    "one value per row; sizes of queries become np.repeat(np.arange(len(sizes)), sizes)"
)
_SHAP = "none: sklearn_ltr.inspection.shap_values has them"

#: arguments and parameters of estimators
OTHER_NAMES = with_advice(
    {
        # of fit
        "group group_sizes": f"groups: {_SIZES}",
        "qid group_id query query_id queries": "groups: the same values, in any order "
        "of the rows",
        "eval_set evals validation_data": "X_val y_val groups_val: the parts of a "
        "set; for several give tuples, X_val=(X_1, X_2), ...",
        "eval_X": "X_val",
        "eval_y": "y_val",
        "eval_group": f"groups_val: {_SIZES}",
        "eval_qid": "groups_val: the same values",
        "eval_sample_weight": "sample_weight_val",
        "sample_weight_eval_set": "sample_weight_val: one value per row",
        "eval_init_score base_margin_eval_set": "init_score_val",
        "base_margin baseline": "init_score",
        "weight weights": "sample_weight: constant within a query; rankers take "
        "weights of documents as document_weight",
        "group_weight": "sample_weight: one value per row, constant within a query",
        "document_weight_val": "none: what is measured has no weights of documents",
        "class_weight scale_pos_weight is_unbalance": "sample_weight: a weight for "
        "each query, or row of MART",
        "position": "positions: where each row was shown, 0 is first; give the ranker "
        "a position_bias, too",
        "feature_name feature_names": "X: a DataFrame: its columns are the names",
        "users order": "none: here queries are held out at random; to choose them, "
        "give X_val, y_val and groups_val",
        "callbacks": "n_iter_no_change verbose: to stop early and to print; "
        "scikit-learn's callbacks go to set_callbacks()",
        # of predict
        (
            "num_iteration start_iteration ntree_limit ntree_start ntree_end "
            "iteration_range"
        ): "none: staged_predict has the scores after each tree",
        "raw_score output_margin prediction_type": "none: predict returns scores; "
        "leave it out",
        "pred_leaf": "none: apply returns the leaf of each row",
        "pred_contrib pred_contribs pred_interactions": _SHAP,
        "validate_features": "none: the columns of X are always checked; leave it out",
        "predict_disable_shape_check": "none: X has the columns of fit; leave it out",
        # parameters of the estimator
        "params": "none: give each parameter by its name, as in **params",
        (
            "device device_type devices gpu_id gpu_device_id gpu_platform_id "
            "task_type predictor"
        ): "none: it computes on the CPU, by n_jobs threads; leave it out",
        "tree_method force_col_wise force_row_wise": "none: trees are grown from "
        "histograms of binned features; leave it out",
        "booster boosting boosting_type": 'dart: for "dart"; leave "gbtree" and "gbdt" '
        "out",
        "drop_rate rate_drop": 'dart: as its "rate_drop"',
        "skip_drop max_drop": "dart: as a value of its dict",
        "one_drop uniform_drop sample_type": "none: dart drops each earlier tree with "
        "the same probability, and sometimes none; leave it out",
        "xgboost_dart_mode normalize_type": "none: dart weighs trees as XGBoost does "
        'with normalize_type="tree"; leave it out',
        "importance_type": "none: feature_importances_ are shares of the gain, and "
        "sklearn_ltr.inspection.split_counts counts splits",
        "base_score init_model xgb_model": "init: a fitted model",
        "missing": "none: NaN is missing; replace other values, by NaN, in X",
        "reg_alpha lambda_l1": "l2_regularization: which is the only one",
        (
            "gamma min_split_loss min_split_gain min_gain_to_split num_leaves "
            "n_leaves max_leaves"
        ): "max_leaf_nodes",
        (
            "use_best_model early_stopping_rounds early_stopping_round od_wait od_type"
        ): "n_iter_no_change: with X_val given, or early_stopping=True",
        "metric": "none: LambdaMARTRanker and LambdaRankRanker learn for a metric; "
        "scoring of RankNetRanker is what validation data are measured by",
        "custom_metric feval": "scoring: a Metric of your own",
        "fobj": "objective",
        "loss loss_function": "metric: what is trained for",
        "k eval_at": 'metric: with its cutoff, such as "ndcg@10"',
        "eval_metric": 'scoring: the metric that is followed, such as "ndcg@10"',
        "depth": "max_depth",
        (
            "min_child_samples min_data_in_leaf min_child_weight min_data_per_group "
            "min_samples_split"
        ): "min_samples_leaf: the number of rows of a leaf",
        "weight_decay": "alpha",
        "reg_lambda lambda_l2 l2_leaf_reg": "l2_regularization",
        "max_bin border_count": "max_bins: at most 255",
        "feature_fraction": "colsample_bytree",
        "feature_fraction_bynode colsample_bynode rsm": "max_features",
        "colsample_bylevel": "max_features: drawn at each node",
        (
            "bagging_fraction bagging_freq subsample_freq data_sample_strategy "
            "top_rate other_rate bootstrap_type"
        ): "subsample: the rows of each tree",
        (
            "num_iterations iterations num_boost_round num_round num_trees n_trees "
            "n_iter max_iter n_estimators epochs"
        ): "n_estimators max_iter",
        "eta lr shrinkage learning_rate": "learning_rate learning_rate_init",
        "learning_rates": "learning_rate: a function of the tree's index",
        "optimizer": "solver",
        "categorical_feature cat_features enable_categorical": "categorical_features: "
        "names, indices or a mask",
        "cat_smooth": "category_smoothing",
        "monotone_constraints": "monotonic_cst",
        "interaction_constraints": "interaction_cst",
        (
            "lambdarank_truncation_level lambdarank_num_pair_per_sample "
            "lambdarank_pair_method"
        ): "truncation_level",
        (
            "lambdarank_norm lambdarank_normalization lambdarank_score_normalization"
        ): "normalize_lambdas",
        "lambdarank_unbiased": 'position_bias: "pairwise"',
        "lambdarank_bias_norm lambdarank_position_bias_regularization": (
            "position_bias: its regularization"
        ),
        "sigmoid": "sigma",
        "label_gain ndcg_exp_gain": "metric: an object such as NDCG(10, gain=[0, 1, "
        '3]) or gain="linear"',
        "seed random_seed": "random_state",
        "num_threads thread_count nthread": "n_jobs",
        "verbosity verbose_eval silent logging_level metric_period": "verbose: 1 "
        "prints progress every few seconds, 2 every step",
    }
)

#: attributes and methods of estimators
OTHER_ATTRIBUTES = with_advice(
    {
        (
            "best_iteration_ get_best_iteration current_iteration n_estimators_ "
            "num_trees tree_count_ num_boosted_rounds get_num_boosting_rounds "
            "best_ntree_limit"
        ): "n_iter_: the number of trees, or epochs, up to the best one",
        "best_iteration": "n_iter_: the number of trees, not the index of the last",
        (
            "best_score_ best_score get_best_score best_validation_score_ "
            "validation_scores_"
        ): "validation_score_: whose maximum is the score of the model that is kept",
        "train_scores_": "train_score_",
        "evals_result get_evals_result": "evals_result_: by set and metric",
        "feature_importance get_feature_importance get_score get_fscore": (
            "feature_importances_: shares of the gain"
        ),
        (
            "feature_name_ feature_name feature_names_ feature_names feature_names_in"
        ): "feature_names_in_: if the columns of X had names",
        "n_features_ n_features num_feature num_features": "n_features_in_",
        "get_cat_feature_indices": "is_categorical_",
        "objective_": "objective: the parameter",
        "learning_rate_": "learning_rate: the parameter",
        "random_seed_": "random_state: the parameter",
        "get_all_params get_xgb_params get_param": "get_params",
        "booster_ booster get_booster model_ trees_": "ensemble_: the trees; "
        "sklearn_ltr.export writes them for other programs",
        "save_model save_raw model_to_string": "none: pickle it, or give it to a "
        "function of sklearn_ltr.export",
        "load_model": "none: unpickle one, or see from_json and others of "
        "sklearn_ltr.export",
        "dump_model get_dump": "none: sklearn_ltr.export.to_json has the trees as "
        "plain data",
        "trees_to_dataframe": "none: sklearn_ltr.inspection.trees_to_dataframe has a "
        "row for each node",
        "calc_leaf_indexes": "apply: the leaf of each row",
        "inplace_predict": "predict",
        "predict_proba decision_function predict_log_proba": "none: predict has the "
        "scores, and predict_relevance of sklearn_ltr.calibration.CalibratedRanker the "
        "probability of a grade or better",
        "get_shap_values shap_values": _SHAP,
        "is_fitted": "none: sklearn.utils.validation.check_is_fitted asks it",
        "plot_importance": "none: sklearn_ltr.plotting.FeatureImportancesDisplay "
        "draws it",
        "plot_metric": "none: sklearn_ltr.plotting.TrainingCurveDisplay draws it",
    }
)

#: classes
OTHER_CLASSES = by_name(
    {
        "LGBMRanker XGBRanker CatBoostRanker LambdaMART": "LambdaMARTRanker",
        "LambdaRank": "LambdaRankRanker",
        "RankNet": "RankNetRanker",
        "LGBMRegressor XGBRegressor CatBoostRegressor MART": "MARTRegressor",
        "LGBMClassifier XGBClassifier CatBoostClassifier": "MARTClassifier",
    }
)

#: arguments of metrics, or of another call than theirs
METRIC_ARGUMENTS = with_advice(
    {
        "group qid query": "groups: one value per row",
        "at n topk top_k cutoff": "k",
        "k": "none: it goes to the metric, as in NDCG(10)",
        "ignore_ties": 'ties: "average" is what scikit-learn has without it',
        "log_base": "discount: a function of the ranks",
        "label_gain": "gain: a list by grade",
        "exp_gain": 'gain: "exponential" or "linear"',
        "rel_lvl relevance_level": "relevant_from",
        "max_rel": "max_grade",
        "p": "persistence",
        "y_pred y_prob": "y_score",
        "labels": "y_true: by position",
        "scores": "y_score: by position",
        "y_true y_score groups sample_weight": "none: it goes to the call, "
        "metric(y_true, y_score, groups=groups)",
    }
)

#: names of metrics, in letters of lower case, and their names here
OTHER_METRICS = by_name(
    {
        "ap mapcut mapk averageprecision meanaverageprecision": "map",
        "ndcgcut ndcgburges lambdamart lambdarank rankxendcg xendcg": "ndcg",
        "dcgburges filtereddcg": "dcg",
        "rr reciprank reciprocalrank meanreciprocalrank": "mrr",
        "p pre prec": "precision",
        "r rec": "recall",
        "success hits hit hr hitratio": "hit_rate",
        "rprec": "r_precision",
        "expectedreciprocalrank pfound": "err",
        "rankbiasedprecision": "rbp",
    }
)
#: columns of runs and of judgements, in letters of lower case: the first group of names
#: of which a table has one counts, and two of one group are ambiguous
OTHER_COLUMNS = {
    "groups": "groups | qid queryid topicid topic query userquery querytext keywords",
    "documents": "documents | docno docid documentid corpusid passageid pid productid "
    "objectid | document doc | id",
    "scores": "scores | score",
    "grades": "grades | grade rating label relevance rel relevancelabel judgment "
    "judgement | score",
}
#: further columns that have a known meaning
FURTHER_COLUMNS = "index iteration rank position"


@lru_cache(1000)
def columns_named(names: tuple[Any, ...], column: str) -> list[Any]:
    """Return the names of a table that may be a column of OTHER_COLUMNS.

    Several are ambiguous.  So is "id" beside a name without a known meaning: it may be
    the number of the row.
    """
    plain = [(name, plain_name(name)) for name in names]
    if {"qid", "docno"} <= {one for _, one in plain}:
        # frames of PyTerrier also have the words of the query and a number
        plain = [pair for pair in plain if pair[1] not in ("query", "docid")]
    for group in OTHER_COLUMNS[column].split("|"):
        found = [name for name, one in plain if one in group.split()]
        if found and group == " id":
            known = f"{' '.join(OTHER_COLUMNS.values())} {FURTHER_COLUMNS}".split()
            found += [name for name, one in plain if one not in known]
        if found:
            return found
    return []


@lru_cache(1000, typed=True)
def plain_name(column: object) -> str:
    """Return the name of a column in small letters, without signs."""
    return re.sub("[^a-z]", "", str(column).lower())


#: ndcg@10-, NDCG:top=10;type=Exp, P.5,10, P(rel=2)@5, recall_at_10, NDCGMetric, ...
_OTHER_METRIC = re.compile(
    r"(\w+[/:])?(?P<name>[a-z]([a-z_-]*?[a-z])??)([_-]?(at[_-]?k?|score|metric))?"
    r"(\([^)]*\))?(([@._:-]|:.*\btop=)?(?P<k>[1-9][0-9]{,17}))?-?([;:,].*)?"
)


def metric_here(name: str, metrics: Collection[str]) -> str | None:
    """Return what a metric of another library is called here; None: it is unknown."""
    found = _OTHER_METRIC.fullmatch("".join(name.lower().split()))
    if found is None:
        return None
    ours = {re.sub("_", "", one): one for one in metrics} | OTHER_METRICS
    base = ours.get(re.sub("[_-]", "", found["name"]))
    return base if base is None or found["k"] is None else f"{base}@{found['k']}"
