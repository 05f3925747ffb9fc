from __future__ import annotations

import logging
import multiprocessing

import pytest

from sklearn_ltr._core.compile import INTERPRETED

# Workers do not look every 10 ms at what they do, and are forked from a process that
# has imported all they need.  The clusters that tests start by themselves are as those
# of users, whose workers are spawned.
QUICK = {"distributed.worker.profile.enabled": False}
FORKED = {"distributed.worker.multiprocessing-method": "forkserver"}
CAN_FORK = "forkserver" in multiprocessing.get_all_start_methods()


@pytest.fixture(scope="package")
def client():
    """A client of a cluster of four processes."""
    if INTERPRETED:
        pytest.skip("interpreted kernels are slow")
    dask = pytest.importorskip("dask")
    distributed = pytest.importorskip("distributed")
    pytest.importorskip("dask.dataframe")
    with dask.config.set(QUICK | (FORKED if CAN_FORK else {})):
        if CAN_FORK:
            context = distributed.utils.get_mp_context()
            context.set_forkserver_preload(["distributed", "sklearn_ltr.dask"])
        cluster = distributed.LocalCluster(
            n_workers=4,
            threads_per_worker=1,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        )
    with cluster, distributed.Client(cluster) as client:
        yield client
