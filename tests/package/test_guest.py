"""What the package does to the process it is a guest in, and puts back.

`docs/guide/process.md` lists it.  Folders of kernels are tested in
`tests/compile/test_kernel_cache.py`.
"""

from __future__ import annotations

import gc
import inspect
import json
import os
import re
import signal
import subprocess
import sys
import threading
import types
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import joblib
import numba
import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr._core.cluster.ranker import ClusterRanker
from sklearn_ltr._core.compile import (
    COMPILE_CLOCK,
    INTERPRETED,
    kernel,
    one_blas_thread,
    threads,
)
from sklearn_ltr._core.compile.kernels import USES_INTERNALS
from sklearn_ltr._core.estimators.monitor import Monitor
from sklearn_ltr.ensemble import BaggingRanker
from sklearn_ltr.inspection import model_report
from sklearn_ltr.metrics import get_metric
from sklearn_ltr.metrics._metric import METRICS
from tests import copy_kernels
from tests.estimators.test_arguments import ESTIMATORS
from tests.meta_estimators import GROUPS, X, Y
from tests.networks import threads_of_blas
from tests.process_state import changed, state

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "guide" / "process.md"
PREDICT = [
    kind
    for kind in ESTIMATORS
    # those of clusters are tested there
    if hasattr(kind, "predict") and not issubclass(kind, ClusterRanker)
]
every_estimator = pytest.mark.parametrize("kind", PREDICT)
compiled = pytest.mark.skipif(not USES_INTERNALS, reason="nothing is compiled")
IS_GOOD = (Y > 1).astype(int)


@pytest.fixture(autouse=True)
def _no_processes():
    """Let joblib start threads: its processes wait for more work, for minutes."""
    with joblib.parallel_config("threading"):
        yield


def small(kind: type) -> Any:
    """Return an estimator that is fitted quickly, in several threads."""
    trees = LambdaMARTRanker(n_estimators=2, random_state=0)
    sizes = {"n_estimators": 2, "max_iter": 2, "n_iter": 2, "time": None, "cv": 2}
    given = {"random_state": 0, "n_jobs": 4, "ranker": trees, "estimator": trees}
    own = kind().get_params(deep=False)
    return kind(**{k: v for k, v in (sizes | given).items() if k in own})


def fit(estimator: Any, X: Any = X) -> Any:
    """Fit an estimator to the data."""
    return estimator.fit(X, IS_GOOD, **groups_of(estimator))


def groups_of(estimator: Any) -> dict[str, Any]:
    """Return the groups, if an estimator takes them."""
    takes = "groups" in inspect.signature(estimator.fit).parameters
    return {"groups": GROUPS} if takes else {}


def interrupted(*_: Any) -> None:
    """Do what Ctrl-C does."""
    raise KeyboardInterrupt


@every_estimator
@pytest.mark.usefixtures("four_cores")
def test_after_fit_predict_and_score_the_process_is_as_before(kind, capfd):
    before = state()
    estimator = fit(small(kind))
    estimator.predict(X)
    estimator.score(X, IS_GOOD, **groups_of(estimator))
    assert changed(before) == {}
    assert capfd.readouterr() == ("", "")


@every_estimator
@pytest.mark.usefixtures("four_cores")
def test_after_an_error_and_ctrl_c_the_process_is_as_before(
    kind, monkeypatch, wait_for_threads
):
    before = state()
    with pytest.raises(ValueError):
        fit(small(kind), np.full_like(X, np.inf))
    wait_for_threads()
    assert changed(before) == {}
    monkeypatch.setattr(Monitor, "record", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fit(small(kind))
    wait_for_threads()
    assert changed(before) == {}


@pytest.fixture
def wait_for_threads():
    """Wait a while for threads that joblib does not wait for after an error."""
    before = set(threading.enumerate())

    def wait() -> None:
        for thread in set(threading.enumerate()) - before:
            thread.join(30)
            assert not thread.is_alive()

    return wait


def test_after_metrics_and_a_report_the_process_is_as_before(tmp_path):
    pytest.importorskip("matplotlib.pyplot")
    import matplotlib
    import matplotlib.pyplot as plt

    def report() -> None:
        for name in METRICS:
            get_metric(name)(Y, ranker.predict(X), groups=GROUPS)
        model_report(ranker, X, Y, groups=GROUPS).save(tmp_path / "report.html")

    ranker = fit(small(LambdaMARTRanker))
    report()  # matplotlib opens its fonts, once
    before, settings = state(), dict(matplotlib.rcParams.copy())
    report()
    assert changed(before) == {}
    assert dict(matplotlib.rcParams.copy()) == settings
    assert plt.get_fignums() == []


ENDLESS = LambdaMARTRanker(n_estimators=10**7, random_state=0, early_stopping=False)


@pytest.mark.usefixtures("four_cores")
@pytest.mark.skipif(sys.platform == "win32", reason="no signal to send")
def test_ctrl_c_ends_the_members_that_other_threads_fit(wait_for_threads):
    """Not at the end of their fits, which may be hours later."""
    bag = BaggingRanker(ENDLESS, n_estimators=4, n_jobs=2, random_state=0)
    threading.Timer(1.0, signal.raise_signal, [signal.SIGINT]).start()
    with pytest.raises(KeyboardInterrupt):
        fit(bag)
    wait_for_threads()


@pytest.mark.usefixtures("four_cores")
def test_the_error_of_a_member_ends_the_others(monkeypatch, wait_for_threads):
    record = Monitor.record

    def fail_in_one_thread(self: Any, step: int) -> bool:
        failing.setdefault("thread", threading.get_ident())
        if failing["thread"] == threading.get_ident() and step == 20:
            raise ZeroDivisionError
        return record(self, step)

    failing: dict[str, int] = {}
    monkeypatch.setattr(Monitor, "record", fail_in_one_thread)
    with pytest.raises(ZeroDivisionError):
        fit(BaggingRanker(ENDLESS, n_estimators=2, n_jobs=2, random_state=0))
    wait_for_threads()


# --- BLAS -----------------------------------------------------------------------------


@pytest.mark.parametrize("first_to_leave", ["first", "second"])
@pytest.mark.parametrize("limits", [nullcontext, lambda: threadpool_limits(2, "blas")])
def test_threads_limit_blas_together_and_the_last_restores_it(first_to_leave, limits):
    """Whichever of them threadpoolctl lets set the limit."""

    def hold() -> None:
        with one_blas_thread:
            seen.append(threads_of_blas())
            entered.set()
            leave.wait(10)
            seen.append(threads_of_blas())

    seen: list[list[int]] = []
    entered, leave = threading.Event(), threading.Event()
    other = threading.Thread(target=hold)
    with limits():
        before = threads_of_blas()
        if first_to_leave == "first":
            other.start()
            entered.wait(10)
        with one_blas_thread:
            if first_to_leave == "second":
                other.start()
                entered.wait(10)
            else:
                leave.set()
                other.join()
            seen.append(threads_of_blas())
        if first_to_leave == "second":
            seen.append(threads_of_blas())
            leave.set()
            other.join()
        assert seen == [[1] * len(before)] * len(seen)
        assert threads_of_blas() == before


class OwnLimits:
    """A BLAS in which each Python thread has a limit of its own, as in MKL."""

    def __init__(self) -> None:
        self._of_thread = threading.local()

    @property
    def num_threads(self) -> int:
        return getattr(self._of_thread, "number", 4)

    def set_num_threads(self, number: int) -> None:
        self._of_thread.number = number


def test_a_limit_that_each_thread_has_for_itself_is_set_and_restored_in_each(
    monkeypatch,
):
    blas = OwnLimits()
    loaded = types.SimpleNamespace(lib_controllers=[blas])
    found = types.SimpleNamespace(select=lambda user_api: loaded)
    monkeypatch.setattr(threads, "ThreadpoolController", lambda: found)
    libraries = threads._blas_libraries.__wrapped__()
    assert libraries == {blas: False}
    monkeypatch.setattr(threads, "_blas_libraries", lambda: libraries)
    seen = []

    def use() -> None:
        blas.set_num_threads(3)
        with one_blas_thread, one_blas_thread:
            seen.append(blas.num_threads)
        seen.append(blas.num_threads)

    with one_blas_thread:
        other = threading.Thread(target=use)
        other.start()
        other.join()
        assert blas.num_threads == 1
    assert (seen, blas.num_threads) == ([1, 3], 4)


# --- the compiler ---------------------------------------------------------------------


@kernel
def wrong(x):
    return x.no_such_attribute


@compiled
@pytest.mark.parametrize("was_enabled", [True, False])
def test_the_collector_is_as_before_if_compiling_ends_by_an_error(
    was_enabled, monkeypatch
):
    from sklearn_ltr._core.compile import numba_internals

    def disable_and_interrupt() -> None:
        gc.disable()
        raise KeyboardInterrupt

    functions = {"isenabled": gc.isenabled, "enable": gc.enable}
    (gc.enable if was_enabled else gc.disable)()
    try:
        with pytest.raises(numba.TypingError):
            wrong(1.0)
        assert gc.isenabled() == was_enabled
        interrupting = types.SimpleNamespace(disable=disable_and_interrupt, **functions)
        monkeypatch.setattr(numba_internals, "gc", interrupting)
        with pytest.raises(KeyboardInterrupt):
            wrong(1)
        assert gc.isenabled() == was_enabled
        assert COMPILE_CLOCK._depth == 0
    finally:
        gc.enable()


@pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")
def test_functions_of_the_user_compile_as_without_the_package():
    """The clock of compilations hears of theirs, too; numba's threads never start."""

    @numba.njit
    def twice(x):
        return 2 * x

    before, seconds = state(), COMPILE_CLOCK.seconds()
    assert twice(3) == 6
    with pytest.raises(numba.TypingError):
        numba.njit(wrong.py_func)(1.0)
    assert COMPILE_CLOCK.seconds() > seconds
    assert COMPILE_CLOCK._depth == 0
    assert changed(before) == {}
    with pytest.raises(ValueError, match="not initialized"):
        numba.threading_layer()


# --- a process of its own -------------------------------------------------------------


def printed(code: str, folder: Path, **environment: str) -> Any:
    """Run a program in a folder; return the JSON that it prints."""
    answer = subprocess.run(
        [sys.executable, "-B", "-c", code],
        env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        cwd=folder,
    )
    return json.loads(answer.stdout)


def test_the_import_changes_nothing(tmp_path):
    code = """
import json, sklearn.callback
from tests.process_state import changed, state
before = state()
import sklearn_ltr
print(json.dumps(sorted(changed(before))))
"""
    assert printed(code, tmp_path) == []


AUDITED = """
import json, os, sys
import numpy as np
import numba.core.registry, sklearn.callback, sklearn.pipeline, threadpoolctl
numba.core.registry.cpu_target.target_context.refresh()
WRITE = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
PATHS = ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink")
OTHERS = (
    "subprocess.", "os.fork", "os.exec", "os.posix_spawn", "os.system", "os.kill",
    "os.putenv", "os.unsetenv", "os.chdir", "os.chmod", "os.chown", "socket.",
    "signal.", "shutil.", "tempfile.", "webbrowser.", "urllib.", "sqlite3.",
)
written, others = [], []
def listen(event, given):
    if event in PATHS or (event == "open" and given[2] & WRITE):
        written.append(os.fsdecode(given[0]))
    elif event.startswith(OTHERS):
        others.append(event)
sys.addaudithook(listen)
from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker
rng = np.random.default_rng(0)
X = rng.normal(size=(200, 3))
y, groups = (X[:, 0] > 0).astype(int), np.repeat(np.arange(20), 10)
for ranker in (
    LambdaMARTRanker(n_estimators=2, random_state=0, n_jobs=1),
    LambdaRankRanker(max_iter=2, random_state=0, n_jobs=1),
):
    ranker.fit(X, y, groups=groups).predict(X)
    ranker.score(X, y, groups=groups)
    try:
        ranker.fit(X, y, groups=groups[:-1])
    except ValueError:
        pass
print(json.dumps([written, others]))
"""


@pytest.mark.slow
def test_files_are_written_in_the_folder_of_kernels_only(tmp_path):
    """No process starts, no connection is opened, and nothing else of the system."""
    cache = tmp_path / "cache"
    copy_kernels(cache, "loop.*", "optimizers.*")
    written, others = printed(AUDITED, tmp_path, NUMBA_CACHE_DIR=str(cache))
    assert others == []
    assert INTERPRETED or written
    assert [path for path in written if not path.startswith(str(cache))] == []
    assert {path.name for path in tmp_path.iterdir()} <= {"cache"}
    written, others = printed(AUDITED, tmp_path, NUMBA_CACHE_DIR=str(cache))
    assert (written, others) == ([], [])


# --- the page -------------------------------------------------------------------------


def test_the_page_names_every_environment_variable_that_the_package_reads():
    sources = [path.read_text("utf-8") for path in ROOT.glob("sklearn_ltr/**/*.py")]
    read = re.compile(r"(?:environ(?:\.get)?|getenv)[\[(]\s*\"(\w+)\"")
    of_numba = re.compile(r"numba\.config\.(?:NUMBA_)?(\w+)")
    names = {name for source in sources for name in read.findall(source)}
    names |= {f"NUMBA_{name}" for s in sources for name in of_numba.findall(s)}
    page = PAGE.read_text("utf-8")
    assert "NUMBA_CACHE_DIR" in names
    assert [name for name in names if f"`{name}" not in page] == []


@pytest.mark.parametrize("page", [PAGE, ROOT / ".github" / "CONTRIBUTING.md"])
def test_the_tests_that_a_page_names_exist(page):
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", page.read_text("utf-8"))
    assert len(named) > 10
    for file, test in named:
        assert f"\ndef {test}(" in (ROOT / file).read_text("utf-8"), (file, test)
