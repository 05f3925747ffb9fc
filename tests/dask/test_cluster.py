"""DaskLambdaMARTRanker on a cluster: the model of one machine, from any partitions."""

from __future__ import annotations

import io
import pickle
import sys
import time
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from sklearn_ltr import (
    LambdaMARTRanker,
    NothingLearnedWarning,
    ShortClickLogWarning,
    UnusedPositionsWarning,
)
from sklearn_ltr.dask import DaskLambdaMARTRanker
from tests import files_named
from tests.dask import N_ROWS, bytes_of, make_data, positions_of

pd = pytest.importorskip("pandas")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

OPTIONS = {"n_estimators": 2, "max_leaf_nodes": 6, "random_state": 1}
FEATURES = [f"f{j}" for j in range(9)]


def frame_of(data, suffix=""):
    """The data as one DataFrame, with a column of text."""
    frame = pd.DataFrame(data["X"], columns=FEATURES)
    rng = np.random.default_rng(5)
    text = rng.choice(["red", "green", "blue", None], len(frame))
    frame["color"] = pd.Categorical(text)
    return frame.assign(y=data["y"], query=data["groups"], weight=data["sample_weight"])


FRAME = frame_of(make_data())
FRAME_VAL = frame_of(make_data(1)).iloc[:300]
COLUMNS = [*FEATURES, "color"]


def arguments(frame, suffix=""):
    return {
        f"X{suffix}": frame[COLUMNS],
        f"y{suffix}": frame["y"],
        f"groups{suffix}": frame["query"],
        f"sample_weight{suffix}": frame["weight"],
    }


def on_workers(client, frames, n_workers):
    """A Dask DataFrame of these partitions, dealt to some workers."""
    workers = sorted(client.nthreads())[:n_workers]
    placed = [
        client.scatter(frame, workers=[workers[number % n_workers]], hash=False)
        for number, frame in enumerate(frames)
    ]
    return dd.from_delayed(placed, meta=frames[0].iloc[:0], verify_meta=False)


def cut(frame, bounds):
    return [frame.iloc[a:b] for a, b in zip([0, *bounds], [*bounds, None], strict=True)]


def local_fit(frame=FRAME, y=None, **options):
    given = arguments(frame) | ({} if y is None else {"y": y})
    return LambdaMARTRanker(**OPTIONS | options).fit(**given)


def fit_on(ddf, expected=None, frame=FRAME, given=None, **more):
    """Fit on a cluster, and find the model of one machine."""
    expected = local_fit(frame) if expected is None else expected
    parameters = expected.get_params(deep=False)
    ranker = DaskLambdaMARTRanker(**parameters)
    ranker.fit(**(arguments(ddf) if given is None else given), **more)
    assert bytes_of(ranker.to_local()) == bytes_of(expected)
    return ranker


@pytest.mark.parametrize("n_workers", [1, 4])
def test_the_model_is_that_of_one_machine(client, n_workers):
    shuffled = FRAME.sample(frac=1.0, random_state=n_workers)
    frame = shuffled if n_workers > 1 else FRAME
    ddf = on_workers(client, cut(frame, [100, 101, 700, 1000]), n_workers)
    ranker = fit_on(ddf)
    assert type(ranker.to_local()) is LambdaMARTRanker
    assert ranker.traffic_.n_exchanges > 0


def test_a_partition_that_is_read_late_changes_nothing(client):
    def late(part):
        time.sleep(0.5 if len(part) > 600 else 0)  # of 700 rows
        return part

    frames = cut(FRAME, [100, 800])
    ddf = dd.from_map(lambda frame: frame, frames, meta=FRAME.iloc[:0])
    fit_on(ddf.map_partitions(late, meta=FRAME.iloc[:0]))


def test_sorted_rows_do_not_travel_but_for_the_queries_at_the_bounds(client):
    frame = FRAME.sort_values("query")
    bounds = [400, 800, 1200]
    ranker = fit_on(on_workers(client, cut(frame, bounds), 4))
    queries = frame["query"].to_numpy()
    split = sum(queries[b - 1] == queries[b] for b in bounds)
    assert ranker.traffic_.n_moved_queries <= split
    longest = frame["query"].value_counts().max()
    assert ranker.traffic_.n_moved_rows <= split * longest / 2


def test_with_validation_data(client):
    options = {"n_estimators": 12, "learning_rate": 1.0, "n_iter_no_change": 2}
    expected = LambdaMARTRanker(**OPTIONS | options).fit(
        **arguments(FRAME), **arguments(FRAME_VAL, "_val")
    )
    ddf = on_workers(client, cut(FRAME, [300, 900]), 3)
    # one partition, and a worker without training rows
    validation = on_workers(client, cut(FRAME_VAL, [10, 20, 290]), 4)
    ranker = fit_on(ddf, expected, **arguments(validation, "_val"))
    assert ranker.n_iter_ < 12


def test_held_out_queries_and_a_warm_start(client):
    options = {"early_stopping": True, "warm_start": True, "learning_rate": 0.5}
    expected = local_fit(**options)
    ddf = on_workers(client, cut(FRAME, [800]), 2)
    ranker = fit_on(ddf, expected)
    expected.set_params(n_estimators=3).fit(**arguments(FRAME))
    ranker.set_params(n_estimators=3).fit(**arguments(ddf))
    assert bytes_of(ranker.to_local()) == bytes_of(expected)


@pytest.mark.parametrize("column", ["propensities", "document_weight"])
def test_known_propensities_and_weights_of_documents(client, column):
    propensity = 1.0 / (1 + np.arange(N_ROWS) % 7)
    expected = LambdaMARTRanker(**OPTIONS)
    expected.fit(**arguments(FRAME), **{column: propensity})
    assert bytes_of(expected) != bytes_of(local_fit())
    frame = FRAME.assign(propensity=propensity)
    ddf = on_workers(client, cut(frame, [200, 900]), 2)
    fit_on(ddf, expected, **{column: ddf["propensity"]})


def test_propensities_are_told_of_where_those_of_all_workers_are_clipped(client):
    rows = np.arange(N_ROWS)
    for largest in (1.0, 0.04):
        frame = FRAME.assign(propensity=np.where(rows < 200, largest, 0.01))
        ddf = on_workers(client, cut(frame, [200, 900]), 2)
        ranker = DaskLambdaMARTRanker(**OPTIONS)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            ranker.fit(**arguments(ddf), propensities=ddf["propensity"])
        found = [str(one.message) for one in caught if "propensit" in str(one.message)]
        assert len(found) == (largest < 0.05)
    assert "(the largest is 0.04)" in found[0]


@pytest.mark.parametrize("method", ["additive", "pairwise"])
def test_the_bias_of_positions_is_learned_from_all_rows(client, method):
    frame = FRAME.assign(position=positions_of(FRAME["query"].to_numpy()))
    expected = LambdaMARTRanker(**OPTIONS, position_bias=method)
    expected.fit(**arguments(frame), positions=frame["position"])
    assert np.ptp(expected.position_bias_) > 0
    ddf = on_workers(client, cut(frame, [200, 900]), 3)
    ranker = fit_on(ddf, expected, positions=ddf["position"])
    ranker.set_params(position_bias=None).fit(**arguments(ddf))
    assert not hasattr(ranker, "position_bias_")


@pytest.mark.parametrize(
    ("method", "category"),
    [("additive", ShortClickLogWarning), (None, UnusedPositionsWarning)],
)
def test_what_is_wrong_with_a_log_is_said_once_and_where_the_user_is(
    client, method, category
):
    frame = FRAME.assign(position=positions_of(FRAME["query"].to_numpy()))
    ddf = on_workers(client, cut(frame, [200, 900]), 3)
    ranker = DaskLambdaMARTRanker(**OPTIONS, position_bias=method)
    client.run(warnings.simplefilter, "error", category)
    with pytest.warns(category) as caught:
        ranker.fit(**arguments(ddf), positions=ddf["position"])
    with pytest.warns(category) as of_one_machine:
        LambdaMARTRanker(**ranker.get_params()).fit(
            **arguments(frame), positions=frame["position"]
        )
    assert [str(w.message) for w in caught] == [str(w.message) for w in of_one_machine]
    assert files_named(caught, __file__) == [__file__]


def test_a_model_without_a_split_is_warned_of_once_and_where_the_user_is(client):
    ddf = on_workers(client, cut(FRAME, [200, 900]), 3)
    ranker = DaskLambdaMARTRanker(**OPTIONS | {"min_samples_leaf": 700})
    client.run(warnings.simplefilter, "error", NothingLearnedWarning)
    with pytest.warns(NothingLearnedWarning) as caught:
        ranker.fit(**arguments(ddf))
    with pytest.warns(NothingLearnedWarning) as of_one_machine:
        LambdaMARTRanker(**ranker.get_params()).fit(**arguments(FRAME))
    assert [str(w.message) for w in caught] == [str(w.message) for w in of_one_machine]
    assert files_named(caught, __file__) == [__file__]


LABELS = ["y", "bought"]


def frame_of_labels():
    """The data with a second label, which one partition and some queries lack."""
    rng = np.random.default_rng(2)
    bought = rng.integers(0, 3, len(FRAME)) + 1.0 * (np.nan_to_num(FRAME["f1"]) > 1)
    bought[(rng.random(len(FRAME)) < 0.3) | (FRAME["query"] % 3 == 0)] = np.nan
    bought[:150] = np.nan
    return FRAME.assign(bought=bought)


@pytest.mark.parametrize("sort", [False, True])
def test_several_labels(client, sort):
    frame = frame_of_labels().sort_values("query") if sort else frame_of_labels()
    rows, options = arguments(frame) | {"y": frame[LABELS]}, {"label_weights": [1, 3]}
    expected = LambdaMARTRanker(**OPTIONS, **options).fit(**rows)
    ddf = on_workers(client, cut(frame, [150, 800, 1100]), 4)
    given = arguments(ddf) | {"y": ddf[LABELS]}
    ranker = fit_on(ddf, expected, given=given)
    assert ranker.label_forces_.all()
    for label in (None, "bought"):
        assert ranker.score(**given, label=label) == expected.score(**rows, label=label)
    # of one label there are no forces
    ranker.set_params(label_weights=None).fit(**arguments(ddf))
    assert not hasattr(ranker, "label_forces_")


def test_arrays_of_several_labels_with_queries_held_out(client):
    frame = frame_of_labels()
    X, y = frame[FEATURES].to_numpy(), frame[LABELS].to_numpy()
    query = frame["query"].to_numpy()
    options = {"early_stopping": True, "learning_rate": 0.9, "metric": ["ndcg", "map"]}
    options["scoring"] = {1: "ndcg@5"}
    expected = LambdaMARTRanker(**OPTIONS | {"n_estimators": 9} | options)
    expected.fit(X, y, groups=query)
    given = {
        "X": da.from_array(X, chunks=(400, 4)), "y": da.from_array(y, chunks=(400, 1)),
        "groups": da.from_array(query, chunks=400),
    }  # fmt: skip
    ranker = fit_on(None, expected, given=given)
    assert ranker.evals_result_["validation"].keys() > {"1: ndcg@5", "mean"}


def array_arguments(chunks, X=None):
    data = make_data()
    X = data.pop("X") if X is None else X
    rows = {n: da.from_array(v, chunks=chunks) for n, v in data.items() if n != "X"}
    return rows | {"X": da.from_array(X, chunks=(chunks, 4))}


def test_arrays_whose_columns_are_divided_too(client):
    expected = LambdaMARTRanker(**OPTIONS).fit(**make_data())
    given = array_arguments(400)
    ranker = fit_on(None, expected, given=given)
    scores = ranker.predict(given["X"])
    np.testing.assert_array_equal(scores, expected.predict(make_data()["X"]))
    assert scores.shape == (N_ROWS,)


def test_sparse_arrays(client):
    data = make_data()
    X = np.nan_to_num(data["X"]) * (np.abs(np.nan_to_num(data["X"])) > 0.5)
    expected = LambdaMARTRanker(**OPTIONS).fit(**data | {"X": csr_matrix(X)})
    given = array_arguments(400, X)
    given["X"] = given["X"].rechunk({1: -1}).map_blocks(csr_matrix)
    fit_on(None, expected, given=given)


def test_partitions_of_different_dtypes_and_of_arrow(client):
    pytest.importorskip("pyarrow")
    columns = {j: "float32" for j in FEATURES}
    frame = FRAME.astype(columns)
    parts = cut(frame, [500, 1000])
    parts[1] = parts[1].astype({j: "float64" for j in FEATURES})
    parts[2] = parts[2].astype({j: "double[pyarrow]" for j in FEATURES})
    fit_on(on_workers(client, parts, 2), frame=frame)


def test_scores_ranks_and_the_metric(client):
    ddf = on_workers(client, cut(FRAME, [300, 300, 1400]), 2)  # one is empty
    ranker = DaskLambdaMARTRanker(**OPTIONS).fit(**arguments(ddf))
    expected, rows = local_fit(), arguments(FRAME)
    X = rows.pop("X")
    scores = ranker.predict(ddf[COLUMNS])
    assert isinstance(scores, dd.Series)
    pd.testing.assert_series_equal(
        scores.compute(), pd.Series(expected.predict(X), X.index, name="score")
    )
    np.testing.assert_array_equal(ranker.predict(X), expected.predict(X))
    given = arguments(ddf)
    assert ranker.score(**given) == expected.score(X, **rows)
    np.testing.assert_array_equal(
        ranker.rank(given["X"], groups=given["groups"]),
        expected.rank(X, groups=rows["groups"]),
    )
    with pytest.raises(TypeError, match="takes no Dask collection"):
        next(ranker.staged_predict(given["X"]))


def test_initial_scores(client):
    start = np.random.default_rng(0).normal(size=len(FRAME))
    frame = FRAME.assign(start=start)
    expected = LambdaMARTRanker(**OPTIONS).fit(**arguments(frame), init_score=start)
    ddf = on_workers(client, cut(frame, [700]), 2)
    ranker = fit_on(ddf, expected, init_score=ddf["start"])
    scores = ranker.predict(ddf[COLUMNS], init_score=ddf["start"])
    np.testing.assert_array_equal(
        scores, expected.predict(frame[COLUMNS], init_score=start)
    )
    base = local_fit()
    assert fit_on(ddf, local_fit(init=base)).init_ is base


def test_one_query_larger_than_a_partition_and_a_worker_with_nothing_to_learn(client):
    frame = FRAME.sort_values("query")
    # the largest query is over three partitions on as many workers
    is_first = np.arange(len(frame)) < 500
    frame["query"] = np.where(is_first, 0, frame["query"])
    frame["weight"] = np.where(frame["query"] == 0, 1.0, frame["weight"])
    parts = cut(frame, [150, 300, 1480])
    parts[3] = parts[3].assign(y=2.0)
    frame = pd.concat(parts)
    ranker = fit_on(on_workers(client, parts, 4), frame=frame)
    assert ranker.traffic_.n_moved_rows >= 300


def test_texts_are_legal_queries_and_an_estimator_is_cloned_and_pickled(client):
    frame = FRAME.assign(query="q" + FRAME["query"].astype(str))
    ddf = on_workers(client, cut(frame, [600]), 2)
    ranker = fit_on(ddf, frame=frame)
    again = pickle.loads(pickle.dumps(ranker))
    np.testing.assert_array_equal(
        again.predict(frame[COLUMNS]), ranker.predict(frame[COLUMNS])
    )
    assert again.traffic_ == ranker.traffic_
    with pytest.raises(NotFittedError):
        clone(ranker).to_local()


def collect_output():
    sys.stdout = io.StringIO()


def collected_output():
    output, sys.stdout = sys.stdout.getvalue(), sys.__stdout__
    return output


def without_seconds(printed):
    return [line.rpartition(", ")[0] for line in printed.splitlines()]


def test_progress_is_printed_once_and_not_by_workers(client, capsys):
    ddf = on_workers(client, cut(FRAME, [700]), 2)
    client.run(collect_output)
    DaskLambdaMARTRanker(**OPTIONS, verbose=2).fit(**arguments(ddf))
    assert set(client.run(collected_output).values()) == {""}
    lines = without_seconds(capsys.readouterr().out)
    local_fit(verbose=2)
    assert lines == without_seconds(capsys.readouterr().out)
    assert len(lines) > 3
