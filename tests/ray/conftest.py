from __future__ import annotations

import logging
import warnings

import pytest

from sklearn_ltr._core.compile import INTERPRETED


@pytest.fixture(scope="package")
def cluster():
    """A cluster of two machines, each of two CPUs: two of Ray's nodes on this one."""
    if INTERPRETED:
        pytest.skip("interpreted kernels are slow")
    pytest.importorskip("ray.data")
    import ray
    from ray.cluster_utils import Cluster

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machines = Cluster(initialize_head=True, head_node_args={"num_cpus": 2})
        machines.add_node(num_cpus=2)
        ray.init(machines.address, logging_level=logging.ERROR, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    yield machines
    ray.shutdown()
    machines.shutdown()


def pytest_collection_modifyitems(items):
    """Ignore what Ray says of its own next versions, and of files that it left open."""
    for item in items:
        if "tests/ray" in item.nodeid:
            for kind in ("FutureWarning", "DeprecationWarning", "ResourceWarning"):
                item.add_marker(pytest.mark.filterwarnings(f"ignore::{kind}"))
