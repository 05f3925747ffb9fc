from __future__ import annotations

import logging

import pytest

from sklearn_ltr._compile import INTERPRETED


@pytest.fixture(scope="package")
def client():
    """A client of a cluster of four processes."""
    if INTERPRETED:
        pytest.skip("interpreted kernels are slow")
    distributed = pytest.importorskip("distributed")
    pytest.importorskip("dask.dataframe")
    with (
        distributed.LocalCluster(
            n_workers=4,
            threads_per_worker=1,
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client
