"""Partitions that are read from files: again and again, never all at once."""

from __future__ import annotations

import uuid

import numpy as np
import pytest

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr._core.cluster.tables import PartRows, PartTable
from sklearn_ltr._core.comm import ONE_PROCESS
from sklearn_ltr._core.compile import ThreadTeam
from sklearn_ltr._core.data.tables import table_of
from sklearn_ltr._core.trees.binning import fit_bins
from sklearn_ltr._core.trees.categories import NO_CATEGORY_BINS
from sklearn_ltr.dask import DaskLambdaMARTRanker
from sklearn_ltr.dask._partitions import (
    USED_SHARE,
    delayed_partitions,
    make_partition_graphs,
)
from tests.dask import bytes_of, make_data
from tests.dask.test_cluster import (
    COLUMNS,
    FRAME,
    LABELS,
    OPTIONS,
    arguments,
    cut,
    fit_on,
    frame_of_labels,
    local_fit,
    on_workers,
)

pd = pytest.importorskip("pandas")
dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
# of Dask, which reads Parquet files by it
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")


def graphs_of(**arguments):
    return make_partition_graphs(delayed_partitions(arguments))


@pytest.fixture
def files(tmp_path):
    """The rows as Parquet files and as files of arrays."""
    pytest.importorskip("pyarrow")
    dd.from_pandas(FRAME, npartitions=5, sort=False).to_parquet(tmp_path / "rows")
    for name, values in make_data().items():
        np.save(tmp_path / f"{name}.npy", values)
    return tmp_path


def rows_of_file(file, block_info=None):
    first, last = block_info[None]["array-location"][0]
    return np.load(file, mmap_mode="r")[first:last]


def mapped(files, name):
    file = files / f"{name}.npy"
    whole = np.load(file, mmap_mode="r")
    chunks = ((400, 400, 400, 300), *((n,) for n in whole.shape[1:]))
    return da.map_blocks(rows_of_file, file, chunks=chunks, meta=np.array(whole[:0]))


def use_share(share):
    from sklearn_ltr.dask import _partitions

    _partitions.USED_SHARE = share


@pytest.fixture
def no_room(client):
    """Let workers have no memory for the rows that they have read."""
    client.run(use_share, 0.0)
    yield
    client.run(use_share, USED_SHARE)


def counted(part, folder):
    """Leave a file for each call."""
    (folder / uuid.uuid4().hex).touch()
    return part


@pytest.mark.parametrize("share", [USED_SHARE, 0.0])
def test_a_partition_is_read_once_if_there_is_room(client, files, tmp_path, share):
    folder = tmp_path / "calls"
    folder.mkdir()
    ddf = dd.read_parquet(files / "rows")
    meta = ddf._meta
    ddf = ddf.map_partitions(counted, folder, meta=meta)
    client.run(use_share, share)
    try:
        fit_on(ddf)
    finally:
        client.run(use_share, USED_SHARE)
    n_readings = len(list(folder.iterdir()))
    assert n_readings == 5 if share > 0 else n_readings > 15


def test_files_of_several_labels_are_read_again(client, tmp_path, no_room):
    pytest.importorskip("pyarrow")
    frame = frame_of_labels()
    dd.from_pandas(frame, npartitions=4, sort=False).to_parquet(tmp_path / "rows")
    rows = dd.read_parquet(tmp_path / "rows")
    given = arguments(rows) | {"y": rows[LABELS]}
    assert None not in graphs_of(**given)
    fit_on(None, local_fit(frame, y=frame[LABELS]), given=given)


def test_parquet_files_are_read_again(client, files, no_room):
    given = arguments(dd.read_parquet(files / "rows"))
    assert None not in graphs_of(**given)
    ranker = fit_on(None, given=given)
    scores = ranker.predict(given["X"]).compute()
    np.testing.assert_array_equal(scores, local_fit().predict(FRAME[COLUMNS]))
    with_start = arguments(FRAME.assign(query=FRAME["query"] % 7, weight=1.0))
    ddf = dd.read_parquet(files / "rows")
    ddf = ddf.assign(query=ddf["query"] % 7, weight=1.0)  # each in all partitions
    base = local_fit()
    expected = LambdaMARTRanker(**OPTIONS, init=base, warm_start=True).fit(**with_start)
    ranker = fit_on(ddf, expected)
    expected.set_params(n_estimators=3).fit(**with_start)
    ranker.set_params(n_estimators=3).fit(**arguments(ddf))
    assert bytes_of(ranker.to_local()) == bytes_of(expected)


def test_memory_maps_are_read_again(client, files, no_room):
    given = {name: mapped(files, name) for name in make_data()}
    assert None not in graphs_of(**given)
    expected = LambdaMARTRanker(**OPTIONS).fit(**make_data())
    ranker = fit_on(None, expected, given=given)
    scores = ranker.predict(given["X"])
    np.testing.assert_array_equal(scores, expected.predict(make_data()["X"]))


def test_categories_that_share_bins_are_read_again(client, files, no_room):
    options = OPTIONS | {
        "categorical_features": ["f3", "f4", "color"],
        "max_bins": 16,
        "min_samples_leaf": 60,
        "warm_start": True,
    }
    expected = LambdaMARTRanker(**options).fit(**arguments(FRAME))
    assert expected._mapper.categories.has_shared.any()
    ddf = dd.read_parquet(files / "rows")
    ranker = fit_on(ddf, expected)
    expected.set_params(n_estimators=5).fit(**arguments(FRAME))
    ranker.set_params(n_estimators=5).fit(**arguments(ddf))
    assert bytes_of(ranker.to_local()) == bytes_of(expected)


def test_what_the_cluster_has_or_needs_all_rows_is_kept(client, files):
    ddf = dd.read_parquet(files / "rows")
    large = da.ones((400_000, 2), chunks=200_000) * 1.0
    assert None not in graphs_of(X=large)  # made, not stored
    large = da.from_array(np.ones((400_000, 2)), chunks=(200_000, 2))
    kept = {
        "persisted": ddf.persist(),
        "placed": on_workers(client, cut(FRAME, [500]), 2),
        "sorted": ddf.sort_values("f0"),
        "given": large,
    }
    stored = da.from_array(make_data()["X"], chunks=(400, 9))
    together = da.concatenate([stored[:400].persist(), stored[400:]])
    kept |= {
        "persisted array": stored.persist(),
        "persisted twice": stored.persist().persist(),
        "optimized again": dask.optimize(stored.persist())[0],
        "columns of it": stored.persist()[:, 2:5],
        "chunks of columns": stored.rechunk((400, 3)).persist(),
        "computed from it": stored.persist() * 2,
        "values of a frame": ddf[COLUMNS[:9]].to_dask_array().persist(),
    }
    for name, values in kept.items():
        assert set(graphs_of(X=values)) == {None}, name
    assert None in graphs_of(X=together)


def test_persisted_arrays_are_read_where_they_are(client):
    data = make_data()
    given = {
        name: da.from_array(values, chunks=(400, *values.shape[1:])).persist()
        for name, values in data.items()
    }
    fit_on(None, LambdaMARTRanker(**OPTIONS).fit(**data), given=given)


def test_rows_that_change_between_readings_are_refused(client, files, no_room):
    ddf = dd.read_parquet(files / "rows")

    def noisy(part):
        return part + np.random.default_rng().normal(size=part.shape)

    X = ddf[COLUMNS[:3]]
    given = arguments(ddf) | {"X": X.map_partitions(noisy, meta=FRAME[COLUMNS[:3]])}
    ranker = DaskLambdaMARTRanker(**OPTIONS)
    with pytest.raises(RuntimeError, match="a partition of X had other rows"):
        ranker.fit(**given)

    def shuffled(part):
        return part.map(lambda query: np.random.default_rng().integers(1000))

    given = arguments(ddf)
    given["groups"] = given["groups"].map_partitions(shuffled, meta=FRAME["query"])
    with pytest.raises((RuntimeError, ValueError)):
        ranker.fit(**given)
    assert not hasattr(ranker, "ensemble_")


@pytest.mark.parametrize("is_sparse", [False, True])
def test_a_table_of_parts_is_the_whole_table(is_sparse):
    X = np.nan_to_num(make_data()["X"])
    parts, chosen = np.split(X, [300, 300, 800]), [None, None, np.arange(0, 500, 3)]
    kept = np.concatenate([X[:300], X[300:800:3], X[800:]])
    if is_sparse:
        csr_matrix = pytest.importorskip("scipy.sparse").csr_matrix
        parts = [csr_matrix(part) for part in parts]
    sizes = [300, 0, 167, len(X) - 800]
    rows = PartRows("X", [{"X": part} for part in parts], [*chosen, None], sizes)
    table = PartTable(rows, lambda part: part, 9)
    assert table.shape == kept.shape

    def dense(values):
        return values.toarray() if is_sparse else values

    order = np.random.default_rng(0).permutation(len(kept))[:400]
    two = np.array([4, 2])
    np.testing.assert_array_equal(dense(table.take(order)), kept[order])
    found = dense(table.take(order, two))
    np.testing.assert_array_equal(found, kept[np.ix_(order, two)])
    assert table.take(order[:0]).shape == (0, 9)
    whole = table_of(kept)
    with ThreadTeam(2) as team:
        hashes = table.hashes(order, team)
        np.testing.assert_array_equal(hashes, whole.hashes(order, team))
        bins = fit_bins(whole, order, 20, NO_CATEGORY_BINS, ONE_PROCESS, team)
        expected = bins.transform(whole, order, team)
        found = bins.transform(table, order, team)
        of_parts = fit_bins(table, order, 20, NO_CATEGORY_BINS, ONE_PROCESS, team)
    for one, other in zip(of_parts.bin_thresholds, bins.bin_thresholds, strict=True):
        np.testing.assert_array_equal(one, other)
    read_columns = table.columns(order)  # in the order of the table
    np.testing.assert_array_equal(read_columns(2, 5), kept[np.sort(order), 2:5])
    assert table.columns(order[:0])(2, 5).shape == (0, 3)
    np.testing.assert_array_equal(found.stored.columns, expected.stored.columns)
    for one, other in zip(found[1:], expected[1:], strict=True):
        np.testing.assert_array_equal(one, other)
