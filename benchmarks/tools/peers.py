"""One adapter per library, with the same settings for all.

``train(X, y, groups, settings)`` returns the library's own model.

``fit(X, y, groups, settings)`` trains and returns ``scores_after(X, stops)``, which
returns the scores of the documents of X after each number of trees in ``stops``.

All work of a library on X, binning included, happens inside ``fit``. Only the settings
below are set; all other parameters of a library keep their defaults.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

OURS = "sklearn_ltr"
BAGGED = f"{OURS} bagged"
ALL_ROWS = f"{OURS} subsample=1"
BLENDED = f"{OURS} blended"
BINS = 255
THREADS = 2
N_MEMBERS = 5

ScoresAfter = Callable[[np.ndarray, Sequence[int]], list[np.ndarray]]
Fit = Callable[[np.ndarray, np.ndarray, np.ndarray, "Settings"], ScoresAfter]


@dataclass(frozen=True)
class Settings:
    n_estimators: int = 100
    learning_rate: float = 0.1
    max_leaf_nodes: int = 31
    min_samples_leaf: int = 20
    random_state: int = 0
    n_threads: int = THREADS


def query_sizes(groups: np.ndarray) -> np.ndarray:
    """Return the number of documents of each query; its rows must be consecutive."""
    starts = np.flatnonzero(np.r_[True, groups[1:] != groups[:-1]])
    if len(starts) != len(np.unique(groups)):
        raise ValueError("the rows of each query must be consecutive")
    return np.diff(np.r_[starts, len(groups)])


def our_parameters(settings: Settings) -> dict[str, Any]:
    """Return the parameters of a ranker, on one machine or many."""
    return {
        "metric": "ndcg@10",
        "n_estimators": settings.n_estimators,
        "learning_rate": settings.learning_rate,
        "max_leaf_nodes": settings.max_leaf_nodes,
        "min_samples_leaf": settings.min_samples_leaf,
        "max_bins": BINS,
        "random_state": settings.random_state,
    }


def make_sklearn_ltr(settings: Settings, **more):
    from sklearn_ltr import LambdaMARTRanker

    return LambdaMARTRanker(
        **our_parameters(settings),
        early_stopping=False,
        n_jobs=settings.n_threads,
        **more,
    )


def train_sklearn_ltr(X, y, groups, settings: Settings, validation=None, **more):
    names = ("X_val", "y_val", "groups_val")
    held_out = {} if validation is None else dict(zip(names, validation, strict=True))
    return make_sklearn_ltr(settings, **more).fit(X, y, groups=groups, **held_out)


def fit_sklearn_ltr(X, y, groups, settings: Settings, **more) -> ScoresAfter:
    ranker = train_sklearn_ltr(X, y, groups, settings, **more)
    return lambda X, stops: _at(ranker.staged_predict(X), stops)


def fit_sklearn_ltr_bagged(X, y, groups, settings: Settings) -> ScoresAfter:
    """The mean of N_MEMBERS rankers."""
    members = _bagged_trees(X, y, groups, settings)
    return lambda X, stops: _mean_at(members, X, stops)


def fit_sklearn_ltr_blended(X, y, groups, settings: Settings) -> ScoresAfter:
    """The N_MEMBERS rankers and a network, as by BlendedRanker(method="equal")."""
    from sklearn_ltr import LambdaRankRanker
    from sklearn_ltr.ensemble._blended_ranker import equal_weights, weighted_sum
    from sklearn_ltr.preprocessing import TableVectorizer

    members = _bagged_trees(X, y, groups, settings)
    vectorizer = TableVectorizer().fit(X)
    network = LambdaRankRanker(
        random_state=settings.random_state, n_jobs=settings.n_threads
    ).fit(vectorizer.transform(X), y, groups=groups)
    of_training = network.predict(vectorizer.transform(X))

    def scores_after(X_new, stops):
        of_network, blends = network.predict(vectorizer.transform(X_new)), []
        known, new = (_mean_at(members, table, stops) for table in (X, X_new))
        for of_trees, trees in zip(known, new, strict=True):
            weights = equal_weights([of_trees, of_training], groups)
            blends.append(weighted_sum(weights, [trees, of_network]))
        return blends

    return scores_after


def _bagged_trees(X, y, groups, settings: Settings) -> list:
    from sklearn_ltr.ensemble import BaggingRanker

    # BaggingRanker draws the seeds of its members
    trees = make_sklearn_ltr(settings)
    bagging = BaggingRanker(trees, N_MEMBERS, random_state=settings.random_state)
    return bagging.fit(X, y, groups=groups).estimators_


def _mean_at(members: list, X, stops: Sequence[int]) -> list[np.ndarray]:
    of_members = [_at(member.staged_predict(X), stops) for member in members]
    return list(np.mean(of_members, axis=0))


def fit_hist_gradient_boosting(X, y, groups, settings: Settings) -> ScoresAfter:
    """Least-squares regression on the grades: scikit-learn has no ranker."""
    from sklearn.ensemble import HistGradientBoostingRegressor
    from threadpoolctl import threadpool_limits

    with threadpool_limits(settings.n_threads):
        regressor = HistGradientBoostingRegressor(
            max_iter=settings.n_estimators,
            learning_rate=settings.learning_rate,
            max_leaf_nodes=settings.max_leaf_nodes,
            min_samples_leaf=settings.min_samples_leaf,
            max_bins=BINS,
            early_stopping=False,
            random_state=settings.random_state,
        ).fit(X, y)
    return lambda X, stops: _at(regressor.staged_predict(X), stops)


def lightgbm_parameters(settings: Settings) -> dict[str, Any]:
    return {
        "objective": "lambdarank",
        "learning_rate": settings.learning_rate,
        "num_leaves": settings.max_leaf_nodes,
        "min_data_in_leaf": settings.min_samples_leaf,
        "max_bin": BINS,
        "num_threads": settings.n_threads,
        "seed": settings.random_state,
        "verbosity": -1,
    }


def train_lightgbm(
    X,
    y,
    groups,
    settings: Settings,
    categorical_feature="auto",
    weight=None,
    position=None,
    validation=None,
    **more,
):
    import lightgbm

    parameters = lightgbm_parameters(settings) | more
    data = lightgbm.Dataset(
        X,
        y,
        weight=weight,
        group=query_sizes(groups),
        position=position,
        params=parameters,
        categorical_feature=categorical_feature,
    )
    measured = []
    if validation is not None:
        X_val, y_val, groups_val = validation
        sizes = query_sizes(groups_val)
        measured.append(data.create_valid(X_val, y_val, group=sizes))
    return lightgbm.train(
        parameters | {"eval_at": [10]},
        data,
        settings.n_estimators,
        valid_sets=measured,
    )


def fit_lightgbm(X, y, groups, settings: Settings, **more) -> ScoresAfter:
    booster = train_lightgbm(X, y, groups, settings, **more)
    return lambda X, stops: [
        booster.predict(X, num_iteration=stop, num_threads=settings.n_threads)
        for stop in stops
    ]


def fit_lightgbm_quantized(X, y, groups, settings: Settings, **more) -> ScoresAfter:
    """Quantized gradients; leaf values are renewed from the exact ones.

    Without the renewal NDCG@10 is far below that of all other libraries.
    """
    quantized = {"use_quantized_grad": True, "quant_train_renew_leaf": True}
    return fit_lightgbm(X, y, groups, settings, **quantized, **more)


def fit_lightgbm_goss(X, y, groups, settings: Settings) -> ScoresAfter:
    """Rows of large gradients, and a sample of the others, at its default rates."""
    return fit_lightgbm(X, y, groups, settings, data_sample_strategy="goss")


def xgboost_parameters(settings: Settings) -> dict[str, Any]:
    """XGBoost has no minimum of rows per leaf; 20 becomes its default hessian of 1."""
    return {
        "objective": "rank:ndcg",
        "tree_method": "hist",
        "learning_rate": settings.learning_rate,
        "grow_policy": "lossguide",
        "max_leaves": settings.max_leaf_nodes,
        "max_depth": 0,
        "min_child_weight": settings.min_samples_leaf / 20,
        "max_bin": BINS,
        "seed": settings.random_state,
    }


def train_xgboost(
    X, y, groups, settings: Settings, weight=None, validation=None, **more
):
    """A weight is that of a group."""
    import xgboost

    parameters = {
        **xgboost_parameters(settings),
        "nthread": settings.n_threads,
        "eval_metric": "ndcg@10",
        **more,
    }
    matrix = partial(xgboost.QuantileDMatrix, max_bin=BINS, nthread=settings.n_threads)
    data = matrix(X, y, weight=weight, qid=groups)
    measured = []
    if validation is not None:
        X_val, y_val, groups_val = validation
        held_out = matrix(X_val, y_val, qid=groups_val, ref=data)
        measured.append((held_out, "validation"))
    return xgboost.train(
        parameters, data, settings.n_estimators, evals=measured, verbose_eval=False
    )


def fit_xgboost(X, y, groups, settings: Settings, **more) -> ScoresAfter:
    booster = train_xgboost(X, y, groups, settings, **more)
    return lambda X, stops: [
        booster.inplace_predict(X, iteration_range=(0, stop)) for stop in stops
    ]


def catboost_parameters(settings: Settings) -> dict[str, Any]:
    return {
        "loss_function": "YetiRank",
        "iterations": settings.n_estimators,
        "learning_rate": settings.learning_rate,
        "thread_count": settings.n_threads,
        "random_seed": settings.random_state,
        "allow_writing_files": False,
        "verbose": False,
    }


def symmetric_depth(settings: Settings) -> int:
    """Return the depth of symmetric trees of about as many leaves."""
    return round(np.log2(settings.max_leaf_nodes))


def train_catboost(X, y, groups, settings: Settings, **growth):
    import catboost

    growth = growth or {
        "grow_policy": "Lossguide",
        "max_leaves": settings.max_leaf_nodes,
        "depth": 16,  # the maximum
    }
    return catboost.CatBoost(
        {
            **catboost_parameters(settings),
            "min_data_in_leaf": settings.min_samples_leaf,
            "border_count": BINS - 1,
            **growth,
        }
    ).fit(catboost.Pool(X, y, group_id=groups))


def train_catboost_symmetric(X, y, groups, settings: Settings):
    depth = symmetric_depth(settings)
    return train_catboost(X, y, groups, settings, depth=depth)


def fit_catboost(X, y, groups, settings: Settings, train=train_catboost) -> ScoresAfter:
    model = train(X, y, groups, settings)
    return lambda X, stops: [
        model.predict(X, ntree_end=stop, thread_count=settings.n_threads)
        for stop in stops
    ]


def fit_catboost_symmetric(X, y, groups, settings: Settings) -> ScoresAfter:
    return fit_catboost(X, y, groups, settings, train_catboost_symmetric)


def _at(stages, stops: Sequence[int]) -> list[np.ndarray]:
    wanted = set(stops)
    return [s.copy() for trees, s in enumerate(stages, start=1) if trees in wanted]


FITS: dict[str, Fit] = {
    OURS: fit_sklearn_ltr,
    "LightGBM": fit_lightgbm,
    "LightGBM quantized": fit_lightgbm_quantized,
    "LightGBM goss": fit_lightgbm_goss,
    "XGBoost hist": fit_xgboost,
    "CatBoost YetiRank": fit_catboost,
    "CatBoost symmetric": fit_catboost_symmetric,
    "HistGradientBoosting": fit_hist_gradient_boosting,
}


def add_libraries(
    parser: argparse.ArgumentParser, names: Sequence[str] = tuple(FITS)
) -> None:
    """Add the option of a script that compares libraries."""
    parser.add_argument(
        "--libraries",
        nargs="+",
        default=names,
        choices=names,
        metavar="NAME",
        help=f"some of {', '.join(names)}",
    )
