"""What monotonic constraints cost in NDCG@10, beside LightGBM and XGBoost.

    python benchmarks/constraints.py --data mq2008.npz websearch.npz
    python benchmarks/constraints.py            # Python's own documentation

The constrained features are those whose correlation with the grades, within queries of
the training part, is beyond a threshold, in the direction of this correlation: what a
team believes of its data.  Printed is NDCG@10 of held-out queries on five folds, the
mean over 15 leaves and 50 to 200 trees (learning rate 0.1), of each library without and
with constraints, and what the constraints change; in brackets the paired standard error
over queries.  LightGBM has three methods.  Queries without a relevant document are left
out.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

import numpy as np
from quality import Part, load, training_part
from scipy.stats import sem
from variants import METRIC, python_docs

import peers
from peers import OURS, Settings

STOPS = (50, 100, 200)
SETTINGS = Settings(n_estimators=max(STOPS), max_leaf_nodes=15, n_threads=1)
LIGHTGBM_METHODS = ("basic", "intermediate", "advanced")
MIN_CORRELATION = 0.1


def directions(part: Part) -> np.ndarray:
    """Return 1, -1 or 0 for each feature."""
    n = np.bincount(part.groups)

    def centred(x):
        return x - (np.bincount(part.groups, x) / n)[part.groups]

    y = centred(part.y.astype(float))
    signs = np.zeros(part.X.shape[1], dtype=int)
    for j, x in enumerate(part.X.T.astype(float)):
        x = centred(x)
        spread = np.sqrt((x @ x) * (y @ y))
        if spread > 0 and abs(x @ y) / spread >= MIN_CORRELATION:
            signs[j] = np.sign(x @ y)
    return signs


def fits(signs: np.ndarray) -> dict[tuple[str, str], partial]:
    """Return what fits each library, without and with constraints."""
    signs = signs.tolist()
    lightgbm = {"monotone_constraints": signs}
    found = {
        (OURS, ""): partial(peers.fit_sklearn_ltr),
        (OURS, "constrained"): partial(peers.fit_sklearn_ltr, monotonic_cst=signs),
        ("LightGBM", ""): partial(peers.fit_lightgbm),
    }
    for method in LIGHTGBM_METHODS:
        more = lightgbm | {"monotone_constraints_method": method}
        found["LightGBM", method] = partial(peers.fit_lightgbm, **more)
    found["XGBoost hist", ""] = partial(peers.fit_xgboost)
    more = {"monotone_constraints": tuple(signs)}
    found["XGBoost hist", "constrained"] = partial(peers.fit_xgboost, **more)
    return found


def values_of(fit, train: Part, test: Part) -> np.ndarray:
    """Return NDCG@10 of each test query, the mean over numbers of trees."""
    scores_after = fit(train.X, train.y, train.groups, SETTINGS)
    return np.mean(
        [
            METRIC.per_query(test.y, scores, groups=test.groups)
            for scores in scores_after(test.X, STOPS)
        ],
        axis=0,
    )


def compare(parts: list[Part]) -> dict[tuple[str, str], np.ndarray]:
    values: dict[tuple[str, str], list] = {}
    for number, test in enumerate(parts):
        train = training_part(parts, number)
        signs = directions(train)
        print(f"fold {number + 1}: {np.count_nonzero(signs)} of {len(signs)} features")
        for key, fit in fits(signs).items():
            values.setdefault(key, []).append(values_of(fit, train, test))
    joined = {key: np.concatenate(of_folds) for key, of_folds in values.items()}
    return {key: v[~np.isnan(v)] for key, v in joined.items()}


def print_table(values: dict[tuple[str, str], np.ndarray]) -> None:
    print(f"{'':28}  NDCG@10   minus unconstrained (standard error)   minus ours")
    for (library, method), of_method in values.items():
        row = f"{f'{library} {method}':28}{of_method.mean():9.4f}"
        if method:
            change = of_method - values[library, ""]
            row += f"{change.mean():+12.4f} ({sem(change):.4f})"
            if library != OURS:
                ours = of_method - values[OURS, "constrained"]
                row += f"{ours.mean():+22.4f} ({sem(ours):.4f})"
        print(row)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, nargs="+", default=[None])
    peers.add_json_argument(parser)
    arguments = parser.parse_args()
    print(peers.machine())
    for path in arguments.data:
        name = "python_docs" if path is None else path.name
        print(name)
        values = compare(python_docs() if path is None else load(path))
        print_table(values)
        records = [
            {"data": name, "library": library, "method": method, "ndcg@10": v.tolist()}
            for (library, method), v in values.items()
        ]
        peers.append_json(arguments.json, records)


if __name__ == "__main__":
    main()
