"""Errors for unknown arguments, which name the argument to give instead.

People who come from LightGBM, XGBoost or CatBoost type the names of these libraries.
`OTHER_NAMES` has, for each of them, our arguments or parameters of that meaning, and
how to convert.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

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

#: name in another library: (names here, separated by spaces; how to convert values)
OTHER_NAMES = {
    # arguments of fit
    "group": ("groups", _SIZES),
    "qid": ("groups", "the same values, in any order of the rows"),
    "group_id": ("groups", "the same values, in any order of the rows"),
    "eval_set": (
        "X_val y_val groups_val",
        "the parts of a pair; for several pairs give tuples, X_val=(X_1, X_2), ...",
    ),
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
    "weight": ("sample_weight", "one value per row, constant within a query"),
    "group_weight": ("sample_weight", "one value per row, constant within a query"),
    "position": ("positions", "where each row was shown, 0 is first"),
    "feature_name": ("X", "a DataFrame: its columns are the names"),
    "feature_names": ("X", "a DataFrame: its columns are the names"),
    "callbacks": (
        "n_iter_no_change verbose",
        "to stop early and to print; scikit-learn's callbacks go to set_callbacks()",
    ),
    # parameters of the estimator
    "eval_metric": ("scoring", 'the metric that is followed, such as "ndcg@10"'),
    "eval_at": ("metric", 'with its cutoff, such as "ndcg@10"'),
    "early_stopping_rounds": _PATIENCE,
    "early_stopping_round": _PATIENCE,
    "od_wait": _PATIENCE,
    "od_type": _PATIENCE,
    "num_leaves": _LEAVES,
    "max_leaves": _LEAVES,
    "depth": ("max_depth", ""),
    "min_child_samples": _ROWS,
    "min_data_in_leaf": _ROWS,
    "min_child_weight": _ROWS,
    "min_data_per_group": _ROWS,
    "reg_lambda": _L2,
    "lambda_l2": _L2,
    "l2_leaf_reg": _L2,
    "max_bin": ("max_bins", "at most 255"),
    "border_count": ("max_bins", "at most 255"),
    "feature_fraction": ("colsample_bytree", ""),
    "feature_fraction_bynode": ("max_features", ""),
    "colsample_bynode": ("max_features", ""),
    "rsm": ("max_features", ""),
    "bagging_fraction": ("subsample", ""),
    "num_iterations": _STEPS,
    "num_boost_round": _STEPS,
    "iterations": _STEPS,
    "eta": ("learning_rate", ""),
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
    "data_sample_strategy": ("subsample", ""),
    "top_rate": ("subsample", ""),
    "other_rate": ("subsample", ""),
    "init_model": _INIT,
    "xgb_model": _INIT,
    "seed": _SEED,
    "random_seed": _SEED,
    "num_threads": _THREADS,
    "thread_count": _THREADS,
    "nthread": _THREADS,
    "verbosity": _VERBOSE,
    "verbose_eval": _VERBOSE,
    "grow_policy": ("max_leaf_nodes", "trees grow by the best leaf"),
    "bootstrap_type": ("subsample", ""),
}


def check_arguments(cls: type) -> None:
    """Have the methods of a class explain which arguments to give, not unknown ones."""
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
        unknown = [name for name in kwargs if name not in known]
        lines = [
            f"{call}() has no argument {explain(name, cls, names)}" for name in unknown
        ]
        raise TypeError("\n".join([*lines, f"It takes {', '.join(names)}"]))

    return checked


def explain(unknown: str, cls: type[Any], names: list[str]) -> str:
    """Return an unknown argument, and the arguments to give instead."""
    ours, how = OTHER_NAMES.get(unknown, (unknown, ""))
    how = f", {how}" if how else ""
    parameters, fit_arguments = (
        inspect.signature(function).parameters for function in (cls, cls.fit)
    )
    for call, known in (
        ("", names),
        (cls.__name__, parameters),
        ("fit", fit_arguments),
    ):
        given = [name for name in ours.split() if name in known]
        if given and call:
            shown = f"{call}({', '.join(f'{name}=...' for name in given)})"
            return f"{unknown!r}: give {shown}{how}"
        if given:
            return f"{unknown!r}: give {', '.join(given)}{how}"
    return repr(unknown)
