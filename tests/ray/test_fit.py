"""RayLambdaMARTRanker: the model of one machine, from any blocks and actors."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

pytest.importorskip("ray.data")
import pandas as pd  # noqa: E402
import pyarrow as pa  # noqa: E402
import ray  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.exceptions import NotFittedError  # noqa: E402

from sklearn_ltr import LambdaMARTRanker  # noqa: E402
from sklearn_ltr.ray import RayLambdaMARTRanker  # noqa: E402
from sklearn_ltr.ray._engine import deal_blocks, divide_cpus  # noqa: E402
from tests.dask import bytes_of, make_data, positions_of  # noqa: E402

pytestmark = pytest.mark.usefixtures("cluster")
OPTIONS = {"n_estimators": 3, "max_leaf_nodes": 6, "random_state": 1, "n_jobs": 1}
COLUMNS = [*(f"f{j}" for j in range(9)), "color"]


def make_frame(seed=0):
    """The data, with a column of text."""
    data = make_data(seed)
    frame = pd.DataFrame(data["X"], columns=COLUMNS[:9])
    rng = np.random.default_rng(5 + seed)
    frame["color"] = rng.choice(["red", "green", "blue", None], len(frame))
    return frame.assign(y=data["y"], query=data["groups"])


FRAME = make_frame()


def on_ray(frame, n_blocks=5):
    """The rows of a frame, shuffled."""
    rows = frame.sample(frac=1.0, random_state=n_blocks)
    cuts = np.linspace(0, len(rows), n_blocks + 1).astype(int)
    parts = [rows.iloc[a:b] for a, b in zip(cuts[:-1], cuts[1:], strict=True)]
    return ray.data.from_pandas(parts)


def X_of(frame):
    return frame[COLUMNS].astype({"color": "category"})


def local_fit(frame=FRAME, groups=None, options=None, **given):
    ranker = LambdaMARTRanker(**OPTIONS | (options or {}))
    groups = frame["query"] if groups is None else groups
    return ranker.fit(X_of(frame), frame["y"], groups=groups, **given)


def fit(dataset, y="y", options=None, **given):
    ranker = RayLambdaMARTRanker(**OPTIONS | (options or {}))
    return ranker.fit(dataset, y, **{"groups": "query", "n_workers": 2} | given)


def check_same(ranker, expected):
    assert type(ranker.to_local()) is LambdaMARTRanker
    assert bytes_of(ranker.to_local()) == bytes_of(expected)


@pytest.mark.parametrize(("n_workers", "n_blocks"), [(1, 3), (3, 7), (99, 1)])
def test_the_model_is_that_of_one_machine(n_workers, n_blocks):
    ranker = fit(on_ray(FRAME, n_blocks), n_workers=n_workers)
    check_same(ranker, local_fit())
    assert (ranker.traffic_.n_sum_bytes > 0) == (n_workers > 1)


def test_threads_of_a_worker_are_the_cpus_of_its_machine():
    options = {"n_jobs": None}
    ranker = fit(on_ray(FRAME), options=options, n_workers=None)
    check_same(ranker, local_fit(options=options))


@pytest.mark.parametrize(
    ("machines", "n_workers", "n_jobs", "expected"),
    [
        ([4, 4], None, None, (2, 4)),
        ([0, 4, 16, 16], None, None, (3, 8)),
        ([4, 16], 3, -1, (3, 5)),
        ([8], 16, None, (8, 1)),
        ([2, 4], 9, 2, (3, 2)),
    ],
)
def test_the_cpus_of_workers(machines, n_workers, n_jobs, expected):
    assert divide_cpus(machines, n_workers, n_jobs) == expected


@pytest.mark.slow
def test_columns_of_all_types():
    """Missing booleans and integers, decimals, floats and dictionaries of text."""
    table = FRAME.assign(
        f0=FRAME["f0"].astype("float32"),
        f1=(FRAME["f1"] > 0).where(FRAME["f1"].notna()).astype(float),
        f2=FRAME["f2"].round(3),
    )
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    changed = {
        "f1": arrow["f1"].cast("bool"),
        "f2": pa.array([None if np.isnan(x) else x for x in table["f2"]]),
        "f3": arrow["f3"].cast("int32"),
        "color": arrow["color"].dictionary_encode(),
        "y": arrow["y"].cast(pa.decimal128(9, 1)),
    }
    changed["f2"] = changed["f2"].cast(pa.decimal128(9, 3))
    for name, column in changed.items():
        arrow = arrow.set_column(arrow.column_names.index(name), name, column)
    dataset = ray.data.from_arrow([arrow[:600], arrow[600:]])
    expected = local_fit(table)
    ranker = fit(dataset)
    check_same(ranker, expected)
    scored = ranker.predict(dataset).to_pandas()["score"]
    assert sorted(scored) == sorted(expected.predict(X_of(table)))


@pytest.mark.parametrize(
    ("near", "machines", "expected"),
    [
        (["a", "a", "b", "b"], ["a", "b"], [0, 0, 1, 1]),
        (["b", "b", "b", "a"], ["a", "b"], [1, 1, 0, 0]),
        (["a", "", "c", "a", "a"], ["a", "a", "b"], [0, 1, 2, 0, 1]),
        (["a"], ["b"], [0]),
    ],
)
def test_blocks_are_read_where_they_are_by_as_many_actors(near, machines, expected):
    assert deal_blocks([[place] for place in near], machines) == expected


IDS = {
    "text": "q" + FRAME["query"].astype(str),
    "half": FRAME["query"] / 2,
    "time": pd.Timestamp("2024-11-03") + pd.to_timedelta(FRAME["query"], "min"),
    "boolean": FRAME["query"] > 40,
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", IDS)
def test_ids_of_queries(kind):
    """Some are moved from actor to actor, so that all have as much to do."""
    options = {"early_stopping": True, "learning_rate": 0.5}
    frame = FRAME.assign(query=IDS[kind])
    ranker = fit(on_ray(frame), options=options, n_workers=3)
    check_same(ranker, local_fit(frame, options=options))


def test_all_that_a_fit_by_row_takes():
    frame = FRAME.assign(
        weight=(FRAME["query"] % 4) / 2.0,
        p=1.0 / (1 + positions_of(FRAME["query"].to_numpy()) % 7),
        start=np.random.default_rng(0).normal(size=len(FRAME)),
    )
    given = {"sample_weight": "weight", "propensities": "p", "init_score": "start"}
    expected = local_fit(frame, **{name: frame[c] for name, c in given.items()})
    dataset = on_ray(frame)
    ranker = fit(dataset, **given)
    check_same(ranker, expected)
    scored = ranker.predict(dataset, init_score="start").to_pandas()
    wanted = expected.predict(X_of(frame), init_score=frame["start"])
    by_start = dict(zip(frame["start"], wanted, strict=True))
    assert dict(zip(scored["start"], scored["score"], strict=True)) == by_start
    measured = {"groups": "query", "sample_weight": "weight"}
    assert ranker.score(dataset, "y", init_score="start", **measured) == pytest.approx(
        expected.score(
            X_of(frame),
            frame["y"],
            groups=frame["query"],
            sample_weight=frame["weight"],
            init_score=frame["start"],
        ),
        rel=1e-12,
    )


@pytest.mark.slow
def test_several_labels_and_the_bias_of_positions():
    positions = positions_of(FRAME["query"].to_numpy())
    frame = FRAME.assign(bought=(FRAME["f1"] > 0.5) * 1.0, position=positions)
    options = {"position_bias": "additive"}
    expected = LambdaMARTRanker(**OPTIONS, **options)
    expected.fit(X_of(frame), frame["y"], groups=frame["query"], positions=positions)
    dataset = on_ray(frame.drop(columns=["bought"]))
    check_same(fit(dataset, options=options, positions="position"), expected)
    labels = frame[["y", "bought"]]
    expected = LambdaMARTRanker(**OPTIONS, label_weights=[1, 2])
    expected.fit(X_of(frame), labels, groups=frame["query"])
    dataset = on_ray(frame.drop(columns=["position"]))
    options = {"label_weights": [1, 2]}
    ranker = fit(dataset, ["y", "bought"], options)
    check_same(ranker, expected)
    given = {"groups": frame["query"], "label": "bought"}
    assert ranker.score(
        dataset, ["y", "bought"], groups="query", label="bought"
    ) == pytest.approx(expected.score(X_of(frame), labels, **given), rel=1e-12)


@pytest.mark.slow
def test_early_stopping_on_a_dataset():
    options = {"n_estimators": 12, "learning_rate": 1.0, "n_iter_no_change": 2}
    both = X_of(pd.concat([FRAME, make_frame(1)[:300]]))
    val = make_frame(1)[:300]
    expected = LambdaMARTRanker(**OPTIONS | options)
    expected.fit(
        both[: len(FRAME)],
        FRAME["y"],
        groups=FRAME["query"],
        X_val=both[len(FRAME) :],
        y_val=val["y"],
        groups_val=val["query"],
    )
    # columns in another order
    ranker = fit(on_ray(FRAME), options=options, X_val=on_ray(val[val.columns[::-1]]))
    check_same(ranker, expected)
    assert ranker.n_iter_ < 12


@pytest.mark.slow
def test_a_warm_start_a_base_model_and_what_estimators_do():
    dataset = on_ray(FRAME)
    ranker = fit(dataset, options={"warm_start": True})
    ranker.set_params(n_estimators=5).fit(dataset, "y", groups="query", n_workers=3)
    base = local_fit(options={"warm_start": True}).set_params(n_estimators=5)
    base.fit(X_of(FRAME), FRAME["y"], groups=FRAME["query"])
    check_same(ranker, base)
    again = pickle.loads(pickle.dumps(ranker))
    assert again.traffic_ == ranker.traffic_
    expected = base.predict(X_of(FRAME))
    np.testing.assert_array_equal(again.predict(X_of(FRAME)), expected)
    ranks = base.rank(X_of(FRAME), groups=FRAME["query"])
    found = again.rank(X_of(FRAME), groups=FRAME["query"])
    np.testing.assert_array_equal(found, ranks)
    given = {"groups": FRAME["query"]}
    score = base.score(X_of(FRAME), FRAME["y"], **given)
    assert again.score(X_of(FRAME), FRAME["y"], **given) == score
    check_same(fit(dataset, options={"init": base}), local_fit(options={"init": base}))
    with pytest.raises(NotFittedError):
        clone(ranker).to_local()


def test_scores_of_a_dataset():
    expected = local_fit()
    ranker = RayLambdaMARTRanker()
    ranker.__dict__ |= vars(expected)
    frame = FRAME.assign(number=np.arange(len(FRAME)))
    dataset = on_ray(frame).repartition(9).limit(700)
    scored = ranker.predict(dataset).to_pandas().set_index("number").sort_index()
    wanted = expected.predict(X_of(FRAME))
    np.testing.assert_array_equal(scored["score"], wanted[scored.index])
    with pytest.raises(Exception, match="has a column 'score' already"):
        ranker.predict(on_ray(frame.assign(score=0.0))).materialize()
    with pytest.raises(TypeError, match="rank takes no Dataset: call predict"):
        ranker.rank(dataset, groups="query")
    with pytest.raises(TypeError, match="staged_predict takes no Dataset"):
        next(ranker.staged_predict(dataset))
