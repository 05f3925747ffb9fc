from __future__ import annotations

import shutil
import warnings
from contextlib import suppress

import pytest

from sklearn_ltr._core.compile import INTERPRETED

with warnings.catch_warnings(), suppress(ImportError):
    warnings.simplefilter("ignore")  # PySpark 3.5 imports distutils
    import pyspark.ml  # noqa: F401

CONF = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "4",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    # times are read and written in it
    "spark.sql.session.timeZone": "America/New_York",
}


@pytest.fixture(scope="package")
def spark():
    """A session of up to four tasks on this machine."""
    if INTERPRETED:
        pytest.skip("interpreted kernels are slow")
    sql = pytest.importorskip("pyspark.sql")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        builder = sql.SparkSession.builder.master("local[4]").config(map=CONF)
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def pytest_collection_modifyitems(items):
    """Ignore what PySpark says of the next pandas."""
    for item in items:
        if "tests/spark" in item.nodeid:
            for kind in ("FutureWarning", "DeprecationWarning", "ResourceWarning"):
                item.add_marker(pytest.mark.filterwarnings(f"ignore::{kind}"))
