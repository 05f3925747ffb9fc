"""Train on a cluster, and get the model of one machine
====================================================

Run it by ``python 11_cluster.py``.
Needs ``python -m pip install ".[examples,dask]"``.

Two worker processes on this machine act as a cluster. The rows of a query may be in
several partitions, or files. The workers read one partition after another, keep one
byte per value, and fit a model together. It is, bit for bit, the model of
:class:`~sklearn_ltr.LambdaMARTRanker` on one machine, for any number of workers. Then
the same cluster searches for settings: each worker fits other candidates, on data that
it receives once. The printed traffic depends on which worker reads which partition.
"""

# sphinx_gallery_thumbnail_path = "_static/thumbnails/11_cluster.svg"
from __future__ import annotations

import dask.dataframe as dd
import joblib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import sklearn
from distributed import Client, LocalCluster
from sklearn.model_selection import GridSearchCV, GroupKFold

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.dask import DaskLambdaMARTRanker
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.metrics import ndcg_score
from sklearn_ltr.scorers import make_ranking_scorer

N_TREES = 20


def make_rows() -> pd.DataFrame:
    """Return made rows, with their grades and queries."""
    made = make_ranking(400, n_documents=20, n_features=50, random_state=0)
    frame = pd.DataFrame(made.data).add_prefix("x")
    return frame.assign(grade=made.target, query=made.groups)


def main() -> dict[str, object]:
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster),
    ):
        frame = make_rows()
        rows = dd.from_pandas(frame, npartitions=4, sort=False)  # or dd.read_parquet
        X = rows.drop(columns=["grade", "query"])
        ranker = DaskLambdaMARTRanker(n_estimators=N_TREES, random_state=0)
        ranker.fit(X, rows["grade"], groups=rows["query"])
        traffic = ranker.traffic_
        print(f"{len(frame)} rows in {rows.npartitions} partitions")
        print(
            f"2 workers: {traffic.n_moved_queries} queries brought together, "
            f"{traffic.n_moved_rows} of their rows travelled"
        )
        print(
            f"per tree {traffic.n_exchanges / N_TREES:.1f} exchanges, "
            f"{traffic.n_sum_bytes / N_TREES / 1e6:.1f} MB of sums sent and received "
            "by each worker"
        )

        whole, y, groups = frame[list(X.columns)], frame["grade"], frame["query"]
        single = LambdaMARTRanker(n_estimators=N_TREES, random_state=0)
        single.fit(whole, y, groups=groups)
        scores = ranker.predict(X).compute().to_numpy()
        same = np.array_equal(scores, single.predict(whole))
        print(f"same model as on one machine: {same}")
        ndcg = ndcg_score(y, scores, groups=groups, k=10)
        print(f"NDCG@10 of the scores of all partitions: {ndcg:.3f}")

        # pass groups to the splitter, the fits and the scorer
        sklearn.set_config(enable_metadata_routing=True)
        search = GridSearchCV(
            LambdaMARTRanker(n_estimators=N_TREES, random_state=0, n_jobs=1),
            {"max_leaf_nodes": [4, 7, 15, 31]},
            scoring=make_ranking_scorer("ndcg@10"),
            cv=GroupKFold(3),
        )
        with joblib.parallel_config(backend="dask", scatter=[whole]):
            search.fit(whole, y, groups=groups)
        print(f"best of 4 candidates, fitted by the workers: {search.best_params_}")
    results = search.cv_results_
    figure, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
    ax.errorbar(
        results["param_max_leaf_nodes"].astype(int),
        results["mean_test_score"],
        yerr=results["std_test_score"],
        marker="o",
        capsize=4,
    )
    ax.set_xlabel("max_leaf_nodes")
    ax.set_ylabel("NDCG@10 of 3 folds (mean ± sd)")
    plt.show()
    return {"same": same, "best_params": search.best_params_}


if __name__ == "__main__":
    main()
