"""Workers in one process fit the model of one machine, however queries are divided."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone

import sklearn_ltr._core.trees.binning as binning
from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr._core.comm import sum_exactly
from sklearn_ltr._core.compile import INTERPRETED
from sklearn_ltr.metrics import ERR, NDCG
from tests.dask import N_QUERIES, bytes_of, fit_together, make_data, positions_of
from tests.workers import run_workers

# all cases are given positions
pytestmark = pytest.mark.filterwarnings("ignore::sklearn_ltr.UnusedPositionsWarning")

DATA = make_data()
DATA["positions"] = positions_of(DATA["groups"])
if INTERPRETED:  # fewer rows, as kernels are slow
    DATA = {name: values[:300] for name, values in DATA.items()}
VALIDATION = {f"{name}_val": values[:200] for name, values in make_data(1).items()}
N_TREES = 2 if INTERPRETED else 6
OPTIONS = {"n_estimators": N_TREES, "random_state": 1, "max_leaf_nodes": 12}
CODES = {"categorical_features": [3, 4], "min_samples_leaf": 2}


def decay(tree):
    return 0.3 / (1 + tree)


def half_squared_error(scores, grades, offsets):
    return scores - grades, np.ones(len(scores))


CASES = {
    "defaults": {},
    "best first": {"grow_policy": "best_first"},
    "least squares": {"split_gain": "least_squares", "grow_policy": "best_first"},
    "categories": CODES,
    "best first, categories": {**CODES, "grow_policy": "best_first"},
    "few bins": {**CODES, "max_bins": 7},
    "shared bins": {**CODES, "max_bins": 40, "min_samples_leaf": 60},
    "monotonic": {"monotonic_cst": [1, -1, 0, 0, 0, 0, 0, 0, 0]},
    "interactions": {"interaction_cst": "pairwise"},
    "best first, constraints": {
        "grow_policy": "best_first",
        "monotonic_cst": [1, -1, 0, 0, 0, 0, 0, 0, 0],
        "interaction_cst": "pairwise",
        "max_features": 0.5,
    },
    "sampling": {"subsample": 0.6, "max_features": 0.5, "colsample_bytree": 0.7},
    "no noise": {
        "subsample": 1,
        "regression_weight": 0,
    },
    "threads": {"n_jobs": 2},
    "cost": {"metric": None, "verbose": 2},
    "largest grade": {"metric": "err", "verbose": 1},
    "held out": {
        "early_stopping": True,
        "n_estimators": 3 * N_TREES,
        "learning_rate": 0.8,
    },
    "skip": {
        "early_stopping": True,
        "scoring": NDCG(5, no_relevant="skip"),
        "n_iter_no_change": 2,
    },
    "metrics": {"early_stopping": True, "scoring": ["map", ERR(3)], "verbose": 1},
    "decay": {"learning_rate": decay},
    "objective": {"objective": half_squared_error},
    "depth": {"max_depth": 2, "max_leaf_nodes": 31},
    "dropped trees": {"dart": {"rate_drop": 0.5, "skip_drop": 0.2}},
    "dropped trees, held out": {
        "dart": {"rate_drop": 0.5, "skip_drop": 0.2},
        "early_stopping": True,
        "n_estimators": 3 * N_TREES,
        "learning_rate": 0.8,
        "grow_policy": "best_first",
    },
    "smooth paths": {"path_smooth": 4.0},
    "smooth paths, monotonic": {
        "path_smooth": 4.0,
        "monotonic_cst": [1, -1, 0, 0, 0, 0, 0, 0, 0],
        "grow_policy": "best_first",
    },
    "additive bias": {"position_bias": "additive"},
    "pairwise bias": {"position_bias": "pairwise"},
}


def several_labels(rows):
    """A second label, which has not judged all documents, nor all queries."""
    rng = np.random.default_rng(7)
    X, groups = np.nan_to_num(rows["X"]), rows["groups"]
    second = np.expm1(rng.integers(0, 3, len(groups)) + (X[:, 1] > 0.5))
    second[(rng.random(len(groups)) < 0.3) | (groups % 3 == 0)] = np.nan
    third = np.where(groups % 6 == 1, 3.0 * (X[:, 2] > 0), np.nan)
    return rows | {"y": np.column_stack([rows["y"], second, third])}


@pytest.mark.parametrize("largest_exponent", [0, 300, 1020])
def test_a_sum_over_workers_is_rounded_once(largest_exponent):
    rng = np.random.default_rng(largest_exponent)
    exponents = rng.integers(-largest_exponent - 50, largest_exponent + 1, 500)
    values = np.abs(rng.normal(size=500)) * 2.0**exponents
    owner = rng.integers(0, 2, 500)  # of three workers, one has none
    expected = float(sum(map(Fraction, values.tolist())))
    found = run_workers(3, lambda comm: sum_exactly(values[owner == comm.rank], comm))
    assert found == [expected] * 3


OF_LABELS = {
    "defaults": {},
    "shares": {"label_weights": [1, 0.25, 3], "metric": ["ndcg@5", "map", "err"]},
    "a weight of 0": {"label_weights": [1, 2, 0], **CODES, "verbose": 2},
    "cost": {"metric": None, "verbose": 2, "scoring": "map"},
    "no regression": {"regression_weight": 0, "subsample": 0.6},
    "categories": {**CODES, "label_weights": [1, 5, 1]},
    "held out": {
        "early_stopping": True,
        "n_estimators": 3 * N_TREES,
        "learning_rate": 0.8,
        "scoring": {"0": "ndcg@3"},
    },
}


@pytest.mark.parametrize("name", OF_LABELS)
def test_workers_fit_the_model_of_several_labels(name, capsys):
    """Of the queries that the third label has judged, not every worker has any."""
    options, data = OPTIONS | OF_LABELS[name], several_labels(DATA)
    expected = LambdaMARTRanker(**options).fit(**data)
    lines = capsys.readouterr().out
    owner = np.random.default_rng(0).integers(0, 3, N_QUERIES)
    judged = np.unique(data["groups"][~np.isnan(data["y"][:, 2])])
    owner[judged] = judged // 6 % 2  # worker 2 has none of the third label
    for n_workers in (1, 3):
        workers = owner[data["groups"]] if n_workers == 3 else 0 * data["groups"]
        parts = [
            {name: values[workers == worker] for name, values in data.items()}
            for worker in range(n_workers)
        ]
        check_together(parts, expected)
        assert without_seconds(capsys.readouterr().out) == without_seconds(lines)


@pytest.mark.skipif(INTERPRETED, reason="interpreted kernels are slow")
def test_several_labels_with_validation_data_that_not_every_worker_has():
    options = OPTIONS | {"n_estimators": 30, "learning_rate": 1.0}
    data = several_labels(DATA)
    held = several_labels({n.removesuffix("_val"): v for n, v in VALIDATION.items()})
    held = {f"{name}_val": values for name, values in held.items()}
    expected = LambdaMARTRanker(**options).fit(**data, **held)
    assert expected.n_iter_ < 30
    parts = divide(data, 3)
    owner = np.array([0, 2])[held["groups_val"] % 2]
    for worker in (0, 2):
        parts[worker] |= {n: rows[owner == worker] for n, rows in held.items()}
    check_together(parts, expected)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_warm_start_of_several_labels_continues_together(weighted):
    data = several_labels(DATA)
    if weighted:
        sure = np.arange(len(data["groups"])) % 3 / 2
        data["document_weight"] = np.where(data["groups"] % 9 == 4, 1.0, sure)
    half = LambdaMARTRanker(**OPTIONS | {"n_estimators": 3}, warm_start=True)
    half.fit(**data)
    start = LambdaMARTRanker()
    start.__dict__ = vars(half) | {"n_estimators": 6}
    models = fit_together(divide(data, 2), half._seed, start)
    expected = half.set_params(n_estimators=6).fit(**data)
    assert {bytes_of(model) for model in models} == {bytes_of(expected)}


def test_what_does_not_fit_several_labels_is_refused_by_all_workers():
    data = several_labels(DATA)
    constant = data | {"y": np.where(data["y"] == 3, 0.0, data["y"])}
    for given, options, message in (
        (
            data,
            {"metric": ["ndcg", "map"]},
            "metric is a list of 2, but y has 3",
        ),
        (DATA, {"label_weights": [1, 1]}, "is for several labels, but y has one col"),
        (constant, {}, "no query with two different grades of label '2' among"),
        (data, {"metric": "hit_rate@200"}, "label '0': "),
    ):
        with pytest.raises(ValueError, match=message):
            fit_together(divide(given, 3), 0, LambdaMARTRanker(**OPTIONS | options))


def check_together(parts, expected, start=None):
    """Fit by workers what is the model of one machine."""
    start = clone(expected) if start is None else start
    models = fit_together(parts, expected._seed, start)
    assert {bytes_of(model) for model in models} == {bytes_of(expected)}


def without_seconds(lines):
    # and without those of compiling, which only the first fit may have
    return re.sub(
        r"[\d.]+ s\b( with .* threads?)?(, of which [\d.]+ s compiled kernels)?",
        "",
        lines,
    )


def divide(rows, n_workers, seed=0):
    """The rows of each worker, by queries."""
    rng = np.random.default_rng(seed)
    owner = rng.integers(0, n_workers, N_QUERIES)[rows["groups"]]
    return [
        {name: values[owner == worker] for name, values in rows.items()}
        for worker in range(n_workers)
    ]


@pytest.mark.parametrize("name", CASES)
def test_workers_fit_the_model_of_one_machine(name, capsys):
    options = OPTIONS | CASES[name]
    expected = LambdaMARTRanker(**options).fit(**DATA)
    lines = capsys.readouterr().out
    for n_workers in (1, 3) if name == "defaults" else (3,):
        check_together(divide(DATA, n_workers), expected)
        assert without_seconds(capsys.readouterr().out) == without_seconds(lines)


@pytest.mark.parametrize("name", ["defaults", "cost", "pairwise bias"])
def test_documents_have_weights_and_one_worker_no_pair_that_counts(name):
    groups, owner = DATA["groups"], np.random.default_rng(0).integers(0, 3, N_QUERIES)
    highest = np.zeros(N_QUERIES)
    np.maximum.at(highest, groups, DATA["y"])
    is_sure = (owner[groups] > 0) | (DATA["y"] == highest[groups])
    weights = np.where(is_sure, 1.0 + np.arange(len(groups)) % 3, 0.0)
    data = DATA | {"document_weight": weights}
    expected = LambdaMARTRanker(**OPTIONS | CASES[name]).fit(**data)
    check_together(divide(data, 3), expected)


@pytest.mark.skipif(INTERPRETED, reason="interpreted kernels are slow")
def test_with_validation_data_that_not_every_worker_has():
    options = OPTIONS | {"n_estimators": 30, "learning_rate": 1.0, "metric": "err"}
    expected = LambdaMARTRanker(**options).fit(**DATA, **VALIDATION)
    assert expected.n_iter_ < 30
    parts = divide(DATA, 3)
    owner = np.array([0, 2])[VALIDATION["groups_val"] % 2]
    for worker in (0, 2):
        chosen = owner == worker
        parts[worker] |= {name: rows[chosen] for name, rows in VALIDATION.items()}
    check_together(parts, expected)


def test_bins_of_a_sample_are_those_of_one_machine(monkeypatch):
    monkeypatch.setattr(binning, "MAX_SAMPLE_ROWS", 300)
    expected = LambdaMARTRanker(**OPTIONS, max_bins=40).fit(**DATA)
    check_together(divide(DATA, 3), expected)


@pytest.mark.parametrize("dart", [None, {"rate_drop": 0.7, "skip_drop": 0}])
def test_a_warm_start_continues_together(dart):
    options = OPTIONS | {"n_estimators": 3, "dart": dart}
    half = LambdaMARTRanker(**options, warm_start=True).fit(**DATA)
    start = LambdaMARTRanker()
    start.__dict__ = vars(half) | {"n_estimators": 6}
    parts = divide(DATA, 2)
    models = fit_together(parts, half._seed, start)
    expected = half.set_params(n_estimators=6).fit(**DATA)
    assert {bytes_of(model) for model in models} == {bytes_of(expected)}


def test_text_that_only_some_workers_have():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(DATA["X"], columns=[f"f{j}" for j in range(9)])
    color = rng.choice(["red", "green", "blue", None], len(frame))
    color[DATA["groups"] % 3 == 0] = None
    color[DATA["groups"] == 4] = "violet"
    frame["color"] = pd.Categorical(color)
    data = DATA | {"X": frame}
    expected = LambdaMARTRanker(**OPTIONS, min_samples_leaf=1).fit(**data)
    owner = DATA["groups"] % 3
    parts = []
    for worker in range(3):
        part = {name: rows[owner == worker] for name, rows in data.items()}
        part["X"] = part["X"].assign(
            color=part["X"]["color"].cat.remove_unused_categories()
        )
        parts.append(part)
    check_together(parts, expected)
