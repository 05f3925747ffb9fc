"""What fit refuses, what ends it, and what it leaves behind."""

from __future__ import annotations

import logging
import os
import pickle
import signal
import time

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr._core.cluster.plan import check_same_kinds
from sklearn_ltr._core.compile import INTERPRETED
from sklearn_ltr._core.data import QueryGroups
from sklearn_ltr.dask import DaskLambdaMARTRanker, _watch
from tests.dask import positions_of
from tests.dask.test_cluster import (
    COLUMNS,
    FRAME,
    OPTIONS,
    arguments,
    cut,
    local_fit,
    on_workers,
)

pd = pytest.importorskip("pandas")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")


def changed(number, **columns):
    """Partitions of the data, one of which has other values in some columns."""
    parts = cut(FRAME, [500, 1000])
    parts[number] = parts[number].assign(**columns)
    return parts


def with_value(column, row, value):
    values = FRAME[column].to_numpy()[500:1000].astype(np.float64)
    values[row] = value
    return changed(1, **{column: values})


REFUSED = {
    "a negative grade": (with_value("y", 7, -1), r"partition 1: y .* row 7 \(query"),
    "a grade that is no number": (with_value("y", 3, np.nan), "partition 1: y must"),
    "an infinite feature": (
        with_value("f2", 9, np.inf),
        "partition 1: X contains infinity.* row 9, column 'f2'",
    ),
    "a row without a query": (
        with_value("query", 4, np.nan),
        "partition 1: groups has",
    ),
    "weights that differ within a query": (
        changed(2, weight=np.arange(len(FRAME) - 1000.0) + 1),
        "weight.*constant within a query",
    ),
    "no query with different grades": (
        [part.assign(y=1.0) for part in cut(FRAME, [500])],
        "no query with two different grades",
    ),
    "weights of zero": (
        [part.assign(weight=0.0) for part in cut(FRAME, [500])],
        "sample_weight is zero for every query",
    ),
    "other columns": (
        [p.drop(columns=["f3"]) if n else p for n, p in enumerate(changed(0))],
        "have different columns.*partition 0 and .* in partition 1",
    ),
    "a column that is categorical here and not there": (
        [p.astype({"color": object}) if n else p for n, p in enumerate(changed(0))],
        "different categorical columns: .'color'. in partition 0 and .. in partition 1",
    ),
    "text and numbers in one column": (
        changed(1, color=pd.Categorical(np.arange(500) % 3)),
        "'color'. in partition 0 and .'color of numbers'. in partition 1",
    ),
    "no rows": ([FRAME.iloc[:0], FRAME.iloc[:0]], "X is empty"),
}


def in_partitions(frame, names):
    """Columns of partitions that may differ: not by Dask's own selection."""
    return frame.map_partitions(
        lambda part: part[[name for name in names if name in part]],
        meta=FRAME[names].iloc[:0],
        enforce_metadata=False,
    )


@pytest.mark.parametrize("name", REFUSED)
def test_bad_rows_are_refused(client, name):
    parts, message = REFUSED[name]
    ddf = on_workers(client, parts, 2)
    given = arguments(ddf) | {"X": in_partitions(ddf, COLUMNS)}
    ranker = DaskLambdaMARTRanker(**OPTIONS)
    with pytest.raises((ValueError, TypeError), match=message):
        ranker.fit(**given)
    assert vars(ranker) == vars(DaskLambdaMARTRanker(**OPTIONS))


def labelled(**columns):
    positions = positions_of(FRAME["query"].to_numpy())
    return cut(FRAME.assign(position=positions, **columns), [500])


@pytest.mark.parametrize(
    ("parts", "options", "message"),
    [
        (labelled(b=np.nan), {}, r"y\[:, b\] is NaN in every row"),
        (labelled(b=-1), {}, r"partition \d: y\[:, b\] must hold finite relevance gra"),
        (labelled(b=1), {}, "no query with two different grades of label 'b'"),
        (labelled(b=1), {"label_weights": [1]}, "label_weights must hold one number"),
        (labelled(b=1), {"metric": ["ndcg"]}, "is a list of 1, but y has 2 labels"),
        (labelled(b=1), {"position_bias": "additive"}, "the clicks of one label"),
        (
            [p.drop(columns=["b"]) if n else p for n, p in enumerate(labelled(b=1))],
            {},
            r"partitions of y have different columns: .'y', 'b'. in partition 0 and ..",
        ),
    ],
)
def test_labels_that_cannot_be_learned_are_refused(client, parts, options, message):
    ddf = on_workers(client, parts, 2)
    y = ddf.map_partitions(
        lambda part: part[[name for name in ("y", "b") if name in part]],
        meta=pd.DataFrame({"y": [0.0], "b": [0.0]}),
        enforce_metadata=False,
    )
    given = arguments(ddf) | {"y": y}
    if "position_bias" in options:
        given["positions"] = ddf["position"]
    ranker = DaskLambdaMARTRanker(**OPTIONS, **options)
    with pytest.raises(ValueError, match=message):
        ranker.fit(**given)
    assert not hasattr(ranker, "ensemble_")


#: ids of two partitions, in which the same query would become two, and what is said
DAYS = pd.date_range("2020-01-01", periods=3)
TWO_KINDS = {
    "text and numbers": (["1"], [1], "text in partition 0, such as '1', and numbers"),
    "text and bytes": (["a"], [b"a"], "text .* bytes in partition 3"),
    "dates and text": (DAYS, ["2020-01-01"], "datetime64 .* and text"),
    "times and dates": (DAYS, list(DAYS.date), "datetime64 .* and datetime.date"),
    "times of a zone": (DAYS, DAYS.tz_localize("UTC"), "datetime64 .* and datetime "),
    "booleans": ([True, False], [1, 0], "booleans .* and numbers"),
    "tuples": ([("a", 1)], [("a", "1")], "tuples of text, numbers in .* text, text in"),
    "large numbers": ([2**53 + 1], [1.0], "int64 in partition 0 and float64"),
    "signs": (np.array([2**63], np.uint64), [-1], "uint64 in partition 0 and int64"),
    "fractions": (np.array([0.1], np.float32), [0.1], "float32 in .* and float64"),
}
ONE_KIND = [
    ([1, 2], [1.0, 2.0]), ([1], np.array([1], np.int8)), ([1], [0.5]), ([2**70], [1]),
    (["a", 1], ["b"]), (["a"], pd.array(["b"], dtype="string")),
    (DAYS, DAYS.astype("datetime64[s]")), ([("a", 1)], [("b", 2.0)]), ([True], [False]),
]  # fmt: skip


def labels_of(ids):
    return QueryGroups.from_groups(ids, len(ids)).query_ids


@pytest.mark.parametrize("kind", TWO_KINDS)
def test_ids_of_two_kinds_are_refused(kind):
    one, other, message = TWO_KINDS[kind]
    with pytest.raises(ValueError, match=f"groups (has|is) {message}"):
        check_same_kinds({0: labels_of(one), 3: labels_of(other)}, "groups")
    with pytest.raises(ValueError, match="groups (has|is) .*convert them alike"):
        check_same_kinds({0: labels_of(other), 3: labels_of(one)}, "groups")


@pytest.mark.parametrize(("one", "other"), ONE_KIND)
def test_ids_that_mean_the_same_in_all_partitions_are_taken(one, other):
    check_same_kinds({0: labels_of(one), 1: labels_of(other)}, "groups")


def test_ids_of_two_kinds_are_refused_in_fits_and_scores(client):
    parts = changed(1, query=FRAME["query"].iloc[500:1000].astype(str))
    ddf = on_workers(client, parts, 2)
    message = "groups has numbers in partition 0, such as .*, and text in partition 1"
    with pytest.raises(ValueError, match=message):
        DaskLambdaMARTRanker(**OPTIONS).fit(**arguments(ddf))
    good = arguments(on_workers(client, changed(0), 2))
    ranker = DaskLambdaMARTRanker(**OPTIONS).fit(**good)
    for call in (
        lambda: ranker.rank(good["X"], groups=ddf["query"]),
        lambda: ranker.score(good["X"], good["y"], groups=ddf["query"]),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    bad = {f"{name}_val": values for name, values in arguments(ddf).items()}
    with pytest.raises(ValueError, match=message.replace("groups", "groups_val")):
        DaskLambdaMARTRanker(**OPTIONS).fit(**good, **bad)


def test_a_position_that_a_list_has_twice_is_refused(client):
    ddf = on_workers(client, cut(FRAME, [700]), 2)
    ranker = DaskLambdaMARTRanker(**OPTIONS, position_bias="additive")
    with pytest.raises(ValueError, match="positions is None"):
        ranker.fit(**arguments(ddf))
    with pytest.raises(ValueError, match="positions has 0 twice in one list"):
        ranker.fit(**arguments(ddf), positions=ddf["query"] * 0)
    assert not hasattr(ranker, "ensemble_")


def test_arguments_must_be_collections_of_the_same_partitions(client):
    ranker, given = DaskLambdaMARTRanker(**OPTIONS), arguments(FRAME)
    ddf = arguments(dd.from_pandas(FRAME, npartitions=2, sort=False))
    other = dd.from_pandas(FRAME, npartitions=3, sort=False)
    with pytest.raises(TypeError, match="X must be a Dask DataFrame"):
        ranker.fit(**given)
    with pytest.raises(TypeError, match="groups must be a Dask DataFrame"):
        ranker.fit(**ddf | {"groups": given["groups"]})
    with pytest.raises(ValueError, match="2 of X, 3 of y, 2 of groups"):
        ranker.fit(**ddf | {"y": other["y"]})
    unequal = da.from_array(FRAME["y"].to_numpy(), chunks=((700, 800),))
    with pytest.raises(ValueError, match=r"partition \d: y has \d00 rows, but X has"):
        ranker.fit(**ddf | {"y": unequal})
    with pytest.raises(ValueError, match="groups is None"):
        ranker.fit(**ddf | {"groups": None})
    with pytest.raises(ValueError, match="X_val is None"):
        ranker.fit(**ddf, y_val=ddf["y"])
    with pytest.raises(ValueError, match="init is not fitted"):
        ranker.set_params(init=LinearRegression()).fit(**ddf)
    with pytest.raises(ValueError, match="learning_rate"):
        ranker.set_params(init=None, learning_rate=-1).fit(**ddf)


def test_judged_pairs_are_refused():
    with pytest.raises(TypeError, match="fit.. has no argument 'pairs'"):
        DaskLambdaMARTRanker(None).fit([[1.0], [2.0]], groups=[0, 0], pairs=[[0, 1]])


@pytest.mark.parametrize("name", ["users", "order"])
def test_what_says_only_which_queries_are_held_out_is_refused(name):
    ranker = DaskLambdaMARTRanker(None)
    with pytest.raises(TypeError, match="held out at random; to choose them, give X_v"):
        ranker.fit([[1.0], [2.0]], groups=[0, 0], **{name: [0, 0]})
    assert name not in ranker.get_metadata_routing().fit.requests


def test_callbacks_are_refused():
    callback = pytest.importorskip("sklearn.callback", reason="since scikit-learn 1.9")
    ranker = DaskLambdaMARTRanker(**OPTIONS).set_callbacks()
    with pytest.raises(ValueError, match="not called on the workers"):
        ranker.set_callbacks(callback.ProgressBar())


def test_there_must_be_a_cluster(monkeypatch):
    def no_client():
        raise ValueError("No global client found")

    monkeypatch.setattr(distributed, "get_client", no_client)
    ddf = dd.from_pandas(FRAME, npartitions=2, sort=False)
    with pytest.raises(RuntimeError, match="no Dask cluster"):
        DaskLambdaMARTRanker(**OPTIONS).fit(**arguments(ddf))


def test_an_error_of_one_worker_ends_the_fit_of_all(client):
    ddf = on_workers(client, cut(FRAME, [500, 1000]), 3)
    ranker = DaskLambdaMARTRanker(**OPTIONS).fit(**arguments(ddf))
    before = vars(ranker).copy()
    start = ddf["y"] * 1e300  # too large for the scores of trees to count
    with pytest.raises(ValueError, match="rounding would erase"):
        ranker.fit(**arguments(ddf), init_score=start)
    assert vars(ranker) == before
    again = DaskLambdaMARTRanker(**OPTIONS).fit(**arguments(ddf))
    # which queries it has learned from is known to workers only
    expected = vars(local_fit()).keys() - {"_trained_queries"}
    assert vars(again.to_local()).keys() == expected


def test_a_paused_worker_is_not_waited_for(client, monkeypatch):
    addresses = sorted(client.nthreads())
    status = {address: "running" for address in addresses} | {addresses[1]: "paused"}
    monkeypatch.setattr(client, "run_on_scheduler", lambda function: status)
    _watch.check_paused(client, addresses, 1.0)
    with pytest.raises(RuntimeError, match=f"workers {addresses[1]} are paused"):
        _watch.check_paused(client, addresses, 31.0)
    monkeypatch.undo()
    real = client.run_on_scheduler(_watch.worker_status)
    assert real == dict.fromkeys(addresses, "running")


def die_after(n_trees):
    """Let this worker die after so many trees."""
    from sklearn_ltr._core.cluster.comm import Connections

    def keep_or_die(connections, n_so_far, fitted):
        if n_so_far == n_trees:
            os.kill(os.getpid(), signal.SIGKILL)
        keep(connections, n_so_far, fitted)

    keep, Connections.keep = Connections.keep, keep_or_die


@pytest.fixture
def mortal():
    """A client of two worker processes, of which one will die after 5 trees."""
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.run(die_after, 5, workers=[sorted(client.nthreads())[1]])
        yield client


@pytest.mark.slow
@pytest.mark.skipif(INTERPRETED, reason="interpreted kernels are slow")
@pytest.mark.parametrize("n_kept", [0, 3])
def test_a_fit_goes_on_without_a_lost_worker(mortal, n_kept):
    ddf = dd.from_pandas(FRAME, npartitions=4, sort=False)
    options = OPTIONS | {"n_estimators": 12, "scoring": ["ndcg@5", "map"]}
    ranker = DaskLambdaMARTRanker(**options, warm_start=n_kept > 0)
    if n_kept > 0:
        ranker.set_params(n_estimators=n_kept).fit(**arguments(ddf))
        ranker.set_params(n_estimators=12)
    with pytest.warns(RuntimeWarning, match="goes on without it from tree [45]"):
        ranker.fit(**arguments(ddf))
    whole = LambdaMARTRanker(**options).fit(**arguments(FRAME))
    assert pickle.dumps(ranker.ensemble_) == pickle.dumps(whole.ensemble_)
    for metric in options["scoring"]:
        np.testing.assert_array_equal(
            ranker.evals_result_["train"][metric], whole.evals_result_["train"][metric]
        )
    assert ranker.get_params()["warm_start"] == (n_kept > 0)


@pytest.mark.slow
@pytest.mark.skipif(INTERPRETED, reason="interpreted kernels are slow")
def test_a_lost_worker_ends_a_fit_that_may_stop_early(mortal):
    ddf = dd.from_pandas(FRAME, npartitions=4, sort=False)
    ranker = DaskLambdaMARTRanker(**OPTIONS | {"n_estimators": 4})
    ranker.fit(**arguments(ddf))
    expected = vars(ranker).copy()
    ranker.set_params(n_estimators=12, early_stopping=True)
    start = time.perf_counter()
    with pytest.raises(RuntimeError, match="left the cluster"):
        ranker.fit(**arguments(ddf))
    assert time.perf_counter() - start < 60
    assert vars(ranker) == expected | {"n_estimators": 12, "early_stopping": True}
    # the cluster starts another worker, and the next fit may use it
    ranker.set_params(n_estimators=2, early_stopping=False).fit(**arguments(ddf))
    again = LambdaMARTRanker(**OPTIONS | {"n_estimators": 2}).fit(**arguments(FRAME))
    assert pickle.dumps(ranker.ensemble_) == pickle.dumps(again.ensemble_)
