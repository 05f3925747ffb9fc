"""Errors for unknown arguments and attributes, which name those to use instead.

People who come from LightGBM, XGBoost or CatBoost type the names of these libraries.
`OTHER_NAMES` maps each to our arguments or parameters of that meaning, and says how to
convert; `OTHER_ATTRIBUTES` maps attributes and methods.  A name that nearly equals one
of ours counts as misspelt.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

from sklearn_ltr._parameters import no_such_arguments, with_close_match

CLOSE = 0.8  # least similarity of a misspelt name

METHODS = ("__init__", "fit", "partial_fit", "predict", "rank", "score")

_SIZES = (
    "one value per row; sizes of queries become np.repeat(np.arange(len(sizes)), sizes)"
)
_LEAVES = ("max_leaf_nodes", "")
_ROWS = ("min_samples_leaf", "the number of rows of a leaf")
_L2 = ("l2_regularization", "")
_STEPS = ("n_estimators max_iter", "")
_CATEGORIES = ("categorical_features", "names, indices or a mask")
_PATIENCE = ("n_iter_no_change", "with X_val given, or early_stopping=True")
_DEEPER = ("truncation_level", "")
_NORMALIZE = ("normalize_lambdas", "")
_SEED, _THREADS = ("random_state", ""), ("n_jobs", "")
_VERBOSE = ("verbose", "1 prints progress every few seconds, 2 every step")
_GAIN = ("metric", 'an object such as NDCG(10, gain=[0, 1, 3]) or gain="linear"')
_INIT = ("init", "a fitted model")
_SETS = (
    "X_val y_val groups_val",
    "the parts of a set; for several give tuples, X_val=(X_1, X_2), ...",
)
_IDS = ("groups", "the same values, in any order of the rows")
_RATE = ("learning_rate learning_rate_init", "")
_SAMPLE = ("subsample", "the rows of each tree")
_NO_GPU = ("", "it computes on the CPU, by n_jobs threads; leave it out")
_ONE_METHOD = ("", "trees are grown from histograms of binned features; leave it out")
_SCORES = ("", "predict returns scores; leave it out")
_LEFT_OUT = ("", "there is no such choice; leave it out")
_FIRST_TREES = ("", "staged_predict has the scores after each tree")
_LEAF_INDICES = ("", "apply returns the leaf of each row")
_SHAP = ("", "sklearn_ltr.inspection.shap_values has them")
_WEIGHTS = (
    "sample_weight",
    "constant within a query; rankers take weights of documents as document_weight",
)
_CLASSES = ("sample_weight", "a weight for each query, or row of MART")

#: name in another library: (names here, separated by spaces; how to convert values).
#: Without a name here, the text says what to do.
OTHER_NAMES = {
    # arguments of fit
    "group": ("groups", _SIZES),
    "group_sizes": ("groups", _SIZES),
    "qid": _IDS,
    "group_id": _IDS,
    "query": _IDS,
    "query_id": _IDS,
    "queries": _IDS,
    "eval_set": _SETS,
    "evals": _SETS,
    "validation_data": _SETS,
    "eval_X": ("X_val", ""),
    "eval_y": ("y_val", ""),
    "eval_group": ("groups_val", _SIZES),
    "eval_qid": ("groups_val", "the same values"),
    "eval_sample_weight": ("sample_weight_val", ""),
    "sample_weight_eval_set": ("sample_weight_val", "one value per row"),
    "eval_init_score": ("init_score_val", ""),
    "base_margin_eval_set": ("init_score_val", ""),
    "base_margin": ("init_score", ""),
    "baseline": ("init_score", ""),
    "weight": _WEIGHTS,
    "group_weight": ("sample_weight", "one value per row, constant within a query"),
    "weights": _WEIGHTS,
    "document_weight_val": ("", "what is measured has no weights of documents"),
    "class_weight": _CLASSES,
    "scale_pos_weight": _CLASSES,
    "is_unbalance": _CLASSES,
    "position": ("positions", "where each row was shown, 0 is first"),
    "feature_name": ("X", "a DataFrame: its columns are the names"),
    "feature_names": ("X", "a DataFrame: its columns are the names"),
    "callbacks": (
        "n_iter_no_change verbose",
        "to stop early and to print; scikit-learn's callbacks go to set_callbacks()",
    ),
    # arguments of predict
    "num_iteration": _FIRST_TREES,
    "start_iteration": _FIRST_TREES,
    "ntree_limit": _FIRST_TREES,
    "ntree_start": _FIRST_TREES,
    "ntree_end": _FIRST_TREES,
    "iteration_range": _FIRST_TREES,
    "raw_score": _SCORES,
    "output_margin": _SCORES,
    "prediction_type": _SCORES,
    "pred_leaf": _LEAF_INDICES,
    "pred_contrib": _SHAP,
    "pred_contribs": _SHAP,
    "pred_interactions": _SHAP,
    "validate_features": ("", "the columns of X are always checked; leave it out"),
    "predict_disable_shape_check": ("", "X has the columns of fit; leave it out"),
    # parameters of the estimator
    "params": ("", "give each parameter by its name, as in **params"),
    "device": _NO_GPU,
    "device_type": _NO_GPU,
    "devices": _NO_GPU,
    "gpu_id": _NO_GPU,
    "gpu_device_id": _NO_GPU,
    "gpu_platform_id": _NO_GPU,
    "task_type": _NO_GPU,
    "predictor": _NO_GPU,
    "tree_method": _ONE_METHOD,
    "force_col_wise": _ONE_METHOD,
    "force_row_wise": _ONE_METHOD,
    "booster": ("", 'trees are boosted as by "gbtree"; leave it out'),
    "boosting": ("", 'trees are boosted as by "gbdt"; leave it out'),
    "boosting_type": ("", 'trees are boosted as by "gbdt"; leave it out'),
    "importance_type": (
        "",
        "feature_importances_ are shares of the gain, and "
        "sklearn_ltr.inspection.split_counts counts splits",
    ),
    "base_score": _INIT,
    "missing": ("", "NaN is missing; replace other values, by NaN, in X"),
    "reg_alpha": ("l2_regularization", "which is the only one"),
    "lambda_l1": ("l2_regularization", "which is the only one"),
    "gamma": _LEAVES,
    "min_split_loss": _LEAVES,
    "min_split_gain": _LEAVES,
    "min_gain_to_split": _LEAVES,
    "use_best_model": _PATIENCE,
    "custom_metric": ("scoring", "a Metric of your own"),
    "feval": ("scoring", "a Metric of your own"),
    "fobj": ("objective", ""),
    "loss": ("metric", "what is trained for"),
    "k": ("metric", 'with its cutoff, such as "ndcg@10"'),
    "eval_metric": ("scoring", 'the metric that is followed, such as "ndcg@10"'),
    "eval_at": ("metric", 'with its cutoff, such as "ndcg@10"'),
    "early_stopping_rounds": _PATIENCE,
    "early_stopping_round": _PATIENCE,
    "od_wait": _PATIENCE,
    "od_type": _PATIENCE,
    "num_leaves": _LEAVES,
    "n_leaves": _LEAVES,
    "max_leaves": _LEAVES,
    "depth": ("max_depth", ""),
    "min_child_samples": _ROWS,
    "min_data_in_leaf": _ROWS,
    "min_child_weight": _ROWS,
    "min_data_per_group": _ROWS,
    "min_samples_split": _ROWS,
    "weight_decay": ("alpha", ""),
    "reg_lambda": _L2,
    "lambda_l2": _L2,
    "l2_leaf_reg": _L2,
    "max_bin": ("max_bins", "at most 255"),
    "border_count": ("max_bins", "at most 255"),
    "feature_fraction": ("colsample_bytree", ""),
    "feature_fraction_bynode": ("max_features", ""),
    "colsample_bynode": ("max_features", ""),
    "colsample_bylevel": ("max_features", "drawn at each node"),
    "rsm": ("max_features", ""),
    "bagging_fraction": _SAMPLE,
    "bagging_freq": _SAMPLE,
    "subsample_freq": _SAMPLE,
    "num_iterations": _STEPS,
    "iterations": _STEPS,
    "num_boost_round": _STEPS,
    "num_round": _STEPS,
    "num_trees": _STEPS,
    "n_trees": _STEPS,
    "n_iter": _STEPS,
    "max_iter": _STEPS,
    "n_estimators": _STEPS,
    "epochs": _STEPS,
    "eta": _RATE,
    "lr": _RATE,
    "shrinkage": _RATE,
    "learning_rates": ("learning_rate", "a function of the tree's index"),
    "learning_rate": _RATE,
    "optimizer": ("solver", ""),
    "categorical_feature": _CATEGORIES,
    "cat_features": _CATEGORIES,
    "enable_categorical": _CATEGORIES,
    "cat_smooth": ("category_smoothing", ""),
    "monotone_constraints": ("monotonic_cst", ""),
    "interaction_constraints": ("interaction_cst", ""),
    "loss_function": ("metric", "what is trained for"),
    "lambdarank_truncation_level": _DEEPER,
    "lambdarank_num_pair_per_sample": _DEEPER,
    "lambdarank_pair_method": _DEEPER,
    "lambdarank_norm": _NORMALIZE,
    "lambdarank_normalization": _NORMALIZE,
    "lambdarank_score_normalization": _NORMALIZE,
    "lambdarank_unbiased": ("position_bias", '"pairwise"'),
    "lambdarank_bias_norm": ("position_bias", "its regularization"),
    "lambdarank_position_bias_regularization": (
        "position_bias",
        "its regularization",
    ),
    "sigmoid": ("sigma", ""),
    "label_gain": _GAIN,
    "ndcg_exp_gain": _GAIN,
    "data_sample_strategy": _SAMPLE,
    "top_rate": _SAMPLE,
    "other_rate": _SAMPLE,
    "init_model": _INIT,
    "xgb_model": _INIT,
    "seed": _SEED,
    "random_seed": _SEED,
    "num_threads": _THREADS,
    "thread_count": _THREADS,
    "nthread": _THREADS,
    "verbosity": _VERBOSE,
    "verbose_eval": _VERBOSE,
    "silent": _VERBOSE,
    "logging_level": _VERBOSE,
    "metric_period": _VERBOSE,
    "bootstrap_type": _SAMPLE,
}

_KEPT = ("n_iter_", "the number of trees, or epochs, up to the best one")
_BEST = ("validation_score_", "whose maximum is the score of the model that is kept")
_IMPORTANCE = ("feature_importances_", "shares of the gain")
_CURVES = ("evals_result_", "by set and metric")
_COLUMNS = ("feature_names_in_", "if the columns of X had names")
_N_COLUMNS = ("n_features_in_", "")
_SAVED = ("", "pickle it, or give it to a function of sklearn_ltr.export")
_READ = ("", "unpickle one, or see from_json and others of sklearn_ltr.export")
_TREES = ("ensemble_", "the trees; sklearn_ltr.export writes them for other programs")
_TABLE = ("", "sklearn_ltr.inspection.trees_to_dataframe has a row for each node")
_DUMP = ("", "sklearn_ltr.export.to_json has the trees as plain data")

#: attribute or method in another library: (name here; what it is), as above
OTHER_ATTRIBUTES = {
    "best_iteration_": _KEPT,
    "best_iteration": ("n_iter_", "the number of trees, not the index of the last"),
    "get_best_iteration": _KEPT,
    "current_iteration": _KEPT,
    "n_estimators_": _KEPT,
    "num_trees": _KEPT,
    "tree_count_": _KEPT,
    "num_boosted_rounds": _KEPT,
    "get_num_boosting_rounds": _KEPT,
    "best_ntree_limit": _KEPT,
    "best_score_": _BEST,
    "best_score": _BEST,
    "get_best_score": _BEST,
    "best_validation_score_": _BEST,
    "validation_scores_": _BEST,
    "train_scores_": ("train_score_", ""),
    "evals_result": _CURVES,
    "get_evals_result": _CURVES,
    "feature_importance": _IMPORTANCE,
    "get_feature_importance": _IMPORTANCE,
    "get_score": _IMPORTANCE,
    "get_fscore": _IMPORTANCE,
    "feature_name_": _COLUMNS,
    "feature_name": _COLUMNS,
    "feature_names_": _COLUMNS,
    "feature_names": _COLUMNS,
    "feature_names_in": _COLUMNS,
    "n_features_": _N_COLUMNS,
    "n_features": _N_COLUMNS,
    "num_feature": _N_COLUMNS,
    "num_features": _N_COLUMNS,
    "get_cat_feature_indices": ("is_categorical_", ""),
    "objective_": ("objective", "the parameter"),
    "learning_rate_": ("learning_rate", "the parameter"),
    "random_seed_": ("random_state", "the parameter"),
    "get_all_params": ("get_params", ""),
    "get_xgb_params": ("get_params", ""),
    "get_param": ("get_params", ""),
    "booster_": _TREES,
    "booster": _TREES,
    "get_booster": _TREES,
    "model_": _TREES,
    "trees_": _TREES,
    "save_model": _SAVED,
    "save_raw": _SAVED,
    "model_to_string": _SAVED,
    "load_model": _READ,
    "dump_model": _DUMP,
    "get_dump": _DUMP,
    "trees_to_dataframe": _TABLE,
    "calc_leaf_indexes": ("apply", "the leaf of each row"),
    "inplace_predict": ("predict", ""),
    "get_shap_values": _SHAP,
    "shap_values": _SHAP,
    "is_fitted": ("", "sklearn.utils.validation.check_is_fitted asks it"),
    "plot_importance": ("", "sklearn_ltr.plotting.FeatureImportancesDisplay draws it"),
    "plot_metric": ("", "sklearn_ltr.plotting.TrainingCurveDisplay draws it"),
}


def check_arguments(cls: type) -> None:
    """Make the methods of a class explain unknown arguments."""
    for name in METHODS:
        if inspect.isfunction(method := vars(cls).get(name)):
            setattr(cls, name, with_checked_arguments(method))


def with_checked_arguments(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return the method with TypeErrors that name the arguments to give."""
    parameters = list(inspect.signature(method).parameters.values())[1:]
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
        return method
    names = [p.name for p in parameters]
    by_name = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    known, most = set(names), len(names) - len(by_name)

    @wraps(method)
    def checked(self: Any, *args: Any, **kwargs: Any) -> Any:
        if known.issuperset(kwargs) and len(args) <= most:
            return method(self, *args, **kwargs)
        cls, is_new = type(self), method.__name__ == "__init__"
        call = cls.__name__ if is_new else f"{cls.__name__}.{method.__name__}"
        if len(args) > most:
            first = " and ".join(names[:most]) or "nothing"
            others = ", ".join(f"{name}=" for name in by_name)
            raise TypeError(f"{call}() takes {first} by position; by name, {others}")
        raise no_such_arguments(
            call, kwargs, names, lambda name: explain(name, call, cls, names)
        )

    return checked


def explain(unknown: str, call: str, cls: type[Any], names: list[str]) -> str:
    """Return an argument unknown to a call, and the arguments to give instead."""
    ours, how = OTHER_NAMES.get(unknown, (unknown, ""))
    if not ours:
        return f"{unknown!r}: {how}"
    how = f", {how}" if how else ""
    others = {cls.__name__: cls, "fit": cls.fit}
    if call.endswith(".predict") and hasattr(cls, "rank"):
        others = {"rank": cls.rank} | others
    calls = {
        name: inspect.signature(other).parameters for name, other in others.items()
    }
    for other, known in {"": dict.fromkeys(names), **calls}.items():
        meant = dict.fromkeys([unknown, *ours.split()])
        given = [name for name in meant if name in known]
        if given and other:
            shown = f"{other}({', '.join(f'{name}=...' for name in given)})"
            return f"{unknown!r}: give {shown}{how}"
        if given:
            return f"{unknown!r}: give {', '.join(given)}{how}"
    return with_close_match(unknown, names, CLOSE)


class OtherAttribute:
    """An attribute that another library has: an AttributeError that names ours."""

    # `__getattr__` would slow down the access to all attributes of the class

    def __init__(self, name: str) -> None:
        ours, how = OTHER_ATTRIBUTES[name]
        self._name = name
        self._how = ", ".join(filter(None, [ours and f"it is {ours} here", how]))

    def __get__(self, instance: object, owner: type) -> Any:
        """Raise the error."""
        raise AttributeError(
            f"{owner.__name__} has no attribute {self._name!r}: {self._how}"
        )


def explain_attributes(cls: type[Any], fitted: Iterable[str]) -> None:
    """Make a class explain attributes of other libraries that match its own."""
    # `fitted` are the attributes that fits of the class set
    there = {*fitted, *dir(cls), *inspect.signature(cls).parameters}
    for name, (ours, _) in OTHER_ATTRIBUTES.items():
        if name not in there and (not ours or ours in there):
            setattr(cls, name, OtherAttribute(name))


def is_of_others(instance: object, name: str) -> bool:
    """Return whether an attribute is one of another library only."""
    if name not in OTHER_ATTRIBUTES or name in vars(instance):
        return False
    found = inspect.getattr_static(type(instance), name, None)
    return isinstance(found, OtherAttribute)
