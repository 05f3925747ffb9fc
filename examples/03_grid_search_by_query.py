"""Search for the best settings of a Pipeline, query by query
==========================================================

Run it by ``python examples/03_grid_search_by_query.py [picture.png]``.

No query is divided between training and test (GroupKFold), every setting is evaluated
by three metrics, and the best by NDCG@10 is refitted. scikit-learn's metadata routing,
enabled once, passes `groups` to each fit and each scorer.

The data are those of the first example, with 600 queries. With Python 3.11.7::

    18 settings x 5 folds, best first

    learning_rate  max_leaf_nodes  sigma    NDCG@10  (sd)     MAP    MRR
             0.20              16    1.0      0.716 0.024   0.727  0.831
             0.10              32    2.0      0.715 0.020   0.719  0.828
             0.20               8    1.0      0.709 0.022   0.717  0.825
             ...

Sigma matters here only because of `l2_regularization`: without it the Newton steps of
the leaves cancel sigma, as section 7 of the report says.

The picture shows NDCG at every cutoff on queries that took no part in the search.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import sklearn
from python_docs import load_python_docs
from sklearn.feature_selection import VarianceThreshold
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import Pipeline

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.model_selection import group_train_test_split
from sklearn_ltr.plotting import CutoffCurveDisplay
from sklearn_ltr.scorers import make_ranking_scorer

sklearn.set_config(enable_metadata_routing=True)

SCORING = {name: make_ranking_scorer(name) for name in ("ndcg@10", "map", "mrr")}
GRID = {
    "ranker__learning_rate": [0.05, 0.1, 0.2],
    "ranker__max_leaf_nodes": [8, 16, 32],
    "ranker__sigma": [1.0, 2.0],
}


def show(results: dict[str, np.ndarray], n_rows: int = 6) -> None:
    """Print the settings with the best mean NDCG@10 over the folds."""
    settings = {name: results[f"param_{name}"] for name in GRID}
    names = "  ".join(name.removeprefix("ranker__") for name in settings)
    print(f"{names}    NDCG@10  (sd)     MAP    MRR")
    for row in np.argsort(results["rank_test_ndcg@10"], kind="stable")[:n_rows]:
        rate, leaves, sigma = (values[row] for values in settings.values())
        means = {name: results[f"mean_test_{name}"][row] for name in SCORING}
        spread = results["std_test_ndcg@10"][row]
        print(
            f"{rate:13.2f}{leaves:16}{sigma:7.1f}{means['ndcg@10']:11.3f}"
            f"{spread:6.3f}{means['map']:8.3f}{means['mrr']:7.3f}"
        )


def main(path: str | None = None) -> None:
    docs = load_python_docs(max_queries=600)
    X, X_test, y, y_test, groups, groups_test = group_train_test_split(
        docs.data, docs.target, groups=docs.groups, random_state=0
    )
    ranker = LambdaMARTRanker(
        n_estimators=40, l2_regularization=1.0, random_state=0, n_jobs=1
    )
    pipeline = Pipeline([("varying", VarianceThreshold()), ("ranker", ranker)])
    search = GridSearchCV(
        pipeline, GRID, scoring=SCORING, refit="ndcg@10", cv=GroupKFold(5), n_jobs=2
    )
    search.fit(X, y, groups=groups)
    print(f"{len(search.cv_results_['params'])} settings x 5 folds, best first\n")
    show(search.cv_results_)

    unseen = search.score(X_test, y_test, groups=groups_test)
    n_unseen = len(np.unique(groups_test))
    print(f"\nNDCG@10 of the best setting on {n_unseen} unseen queries: {unseen:.3f}")
    if find_spec("matplotlib") is None:
        print('No picture without matplotlib: pip install "sklearn_ltr[plot]"')
        return
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rankings = {
        "best setting": search.predict(X_test),
        "BM25": X_test[:, docs.feature_names.index("bm25_all")],
    }
    figure, ax = pyplot.subplots(figsize=(6, 4), layout="constrained")
    CutoffCurveDisplay.from_predictions(y_test, rankings, groups=groups_test, ax=ax)
    picture = Path(mkdtemp()) / "cutoffs.png" if path is None else Path(path)
    figure.savefig(picture, dpi=150)
    print(f"The picture is in {picture}")


if __name__ == "__main__":
    main(*sys.argv[1:])
