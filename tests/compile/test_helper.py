"""A first fit starts one process that compiles, and nobody else starts any."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import joblib
import numba
import pytest

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr._core.compile import SharedKernel, claims, helper, room_left
from sklearn_ltr._core.compile.kernels import USES_INTERNALS
from sklearn_ltr._core.trees.growth import POLICIES, ahead_of_time
from sklearn_ltr.datasets import make_ranking
from tests import copy_kernels

pytestmark = pytest.mark.skipif(
    not USES_INTERNALS or not claims.ARE_KNOWN, reason="nothing is compiled beside"
)
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")
PACKAGES = Path(__file__).resolve().parents[2]


@pytest.fixture
def started(monkeypatch, tmp_path):
    """The commands of helpers that would have been started, from an empty folder."""
    commands = []

    def note(command, **options):
        commands.append((command[5:], options["env"][helper.SWITCH]))
        raise OSError("none is started")

    monkeypatch.delenv(helper.SWITCH)
    processes = SimpleNamespace(Popen=note, DEVNULL=subprocess.DEVNULL)
    monkeypatch.setattr(helper, "subprocess", processes)
    monkeypatch.setattr(joblib, "effective_n_jobs", lambda n_jobs: 2)
    monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", 2)
    for name in ("bytes_left", "addresses_left", "processes_left"):
        monkeypatch.setattr(room_left, name, lambda: math.inf)
    for policy in POLICIES.values():
        monkeypatch.setitem(
            vars(policy.kernel.cache), "_folders", {str(tmp_path): True}
        )
    monkeypatch.setattr(SharedKernel, "is_loaded", False)
    # xdist runs tests in processes that it has started itself
    monkeypatch.setattr(helper, "parent_process", lambda: None)
    main = threading.current_thread
    monkeypatch.setattr(threading, "main_thread", main)
    yield commands
    helper.end()


def want(n_jobs=None):
    ahead_of_time.want_growth(POLICIES["symmetric"], False, False, n_jobs=n_jobs)


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({}, "symmetric"),  # there are few queries
        ({"grow_policy": "best_first"}, "best_first"),
        ({"categorical_features": [0]}, "symmetric, categories"),
    ],
)
def test_a_fit_wants_the_kernel_of_its_trees_compiled(
    started, options, kind, monkeypatch
):
    data = make_ranking(5, n_features=4, n_informative=2, random_state=0)
    X = abs(data.data).astype(int)
    ranker = LambdaMARTRanker(n_estimators=1, **options)
    ranker.fit(X, data.target, groups=data.groups)
    ((command, switch),) = started
    assert command[1:] == [ahead_of_time.__name__, kind]
    assert switch == "0"  # of the process, so that it starts none itself


def test_where_nothing_is_in_the_way_a_helper_is_started(started, monkeypatch):
    want(n_jobs=1)
    assert started == []
    with monkeypatch.context() as patch:
        patch.setattr(SharedKernel, "is_loaded", True)
        want()
    assert started == []
    want()
    assert len(started) == 1


IN_THE_WAY = {
    "the switch": lambda p: p.setenv(helper.SWITCH, "0"),
    "a frozen program": lambda p: p.setattr(sys, "frozen", True, raising=False),
    "an embedded interpreter": lambda p: p.setattr(sys, "executable", "/opt/app"),
    "no interpreter": lambda p: p.setattr(sys, "executable", None),
    "no locks": lambda p: p.setattr(claims, "ARE_KNOWN", False),
    "in a zip file": lambda p: p.setattr(helper.helper_process, "__file__", "a.zip/b"),
    "a worker": lambda p: p.setattr(helper, "parent_process", lambda: 1),
    "a forked child": lambda p: p.setattr(helper, "_was_forked", [True]),
    "another thread": lambda p: p.setattr(threading, "main_thread", lambda: None),
    "one CPU": lambda p: p.setattr(joblib, "effective_n_jobs", lambda n_jobs: 1),
    "one thread": lambda p: p.setattr(numba.config, "NUMBA_NUM_THREADS", 1),
    "memory": lambda p: p.setattr(room_left, "bytes_left", lambda: 2.0**29),
    "addresses": lambda p: p.setattr(room_left, "addresses_left", lambda: 2.0**31),
    "processes": lambda p: p.setattr(room_left, "processes_left", lambda: 50),
}


@pytest.mark.parametrize("what", IN_THE_WAY)
def test_no_helper_is_started_where_something_is_in_the_way(what, started, monkeypatch):
    with monkeypatch.context() as patch:
        IN_THE_WAY[what](patch)
        assert helper.obstacle()
        want()
    assert started == []
    assert helper.obstacle() is None


def test_no_helper_is_started_for_a_kernel_that_is_stored(started, tmp_path):
    cache = POLICIES["symmetric"].kernel.cache
    assert not cache.is_stored()
    (tmp_path / f"{cache._start_of_name}0123.nbc").write_bytes(b"")
    assert cache.is_stored()
    want()
    assert started == []


HOLD = """
import sys
from sklearn_ltr._core.compile import claims
assert claims.claim_now(*sys.argv[1:])
print("claimed", flush=True)
sys.stdin.readline()
"""


def test_processes_that_share_a_folder_have_one_helper(started, tmp_path):
    command = [sys.executable, "-c", HOLD, str(tmp_path), helper.CLAIM]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as other:
        assert other.stdout.readline() == "claimed\n"
        want()
        assert started == []
        other.kill()
        other.wait()
    want()
    assert len(started) == 1


# --- real processes -------------------------------------------------------------------


def state_and_parent(process):
    """One letter, Z if it has ended and nobody has asked how, and an id."""
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return "Z", "0"
    return status.rpartition(")")[2].split()[:2]


def children_of(process):
    """The processes below a process, which have not ended; at any depth."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        state, parent = state_and_parent(folder.name)
        if state != "Z":
            parents.setdefault(int(parent), []).append(int(folder.name))
    below = list(parents.get(process, ()))
    for one in below:
        below += parents.get(one, ())
    return below


FIT = """
import os, sys, time
import numpy as np
from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr._core.compile import helper, room_left
room_left.bytes_left = lambda: 2**40  # whatever this machine has left
import joblib, numba
joblib.effective_n_jobs = lambda n_jobs: 2
numba.config.NUMBA_NUM_THREADS = 2
def fit():
    X = np.random.default_rng(0).normal(size=(300, 4))
    y, groups = (X[:, 0] > 0).astype(int), np.arange(300) // 10
    LambdaMARTRanker(n_estimators=2).fit(X, y, groups=groups)
"""
# each kernel takes half a second more, in every process of the test
SLOWER = """
import importlib.abc, sys, time
class Slow:
    def find_spec(self, name, path, target=None):
        if name == "sklearn_ltr._core.compile.cache":
            sys.meta_path.remove(self)
            import sklearn_ltr._core.compile.cache as cache
            save = cache.KernelCache.save_overload
            def slower(self, signature, result):
                time.sleep(0.5)
                save(self, signature, result)
            cache.KernelCache.save_overload = slower
sys.meta_path.insert(0, Slow())
"""


def environment(tmp_path, **more):
    """Of a process that finds no kernels, and may start a helper."""
    own = {name: value for name, value in os.environ.items() if name != helper.SWITCH}
    paths = os.pathsep.join([str(tmp_path), str(PACKAGES)])
    return own | {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": paths} | more


def counts_below(process, seconds):
    """How many processes there are below one, every tenth of a second until its end."""
    counts, end = [], time.monotonic() + seconds
    while process.poll() is None:
        counts.append(len(children_of(process.pid)))
        assert time.monotonic() < end
        time.sleep(0.1)
    return counts


@on_linux
@pytest.mark.slow
@pytest.mark.parametrize("speed", ["as it is", "slow"])
def test_a_first_fit_has_one_helper_and_leaves_none(speed, tmp_path):
    copy_kernels(tmp_path, "loop.*", "short_lists.*")
    if speed == "slow":
        (tmp_path / "sitecustomize.py").write_text(SLOWER)
    script = FIT + "fit()\nprint('fitted', flush=True)\ntime.sleep(2)\n"
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        env=environment(tmp_path), stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with process, ThreadPoolExecutor(1) as pool:
        during = pool.submit(counts_below, process, 300)
        assert process.stdout.readline() == "fitted\n"
        assert children_of(process.pid) == []
        assert max(during.result()) == 1
    assert process.returncode == 0
    names = {path.name.partition("-")[0] for path in tmp_path.rglob("*.nbc")}
    assert "loop.grow_symmetric" in names


# what would start a process writes a file
NOTE = """
class subprocess:
    DEVNULL = 0
    def Popen(*arguments, **options):
        open({path!r}, "w").close()
        raise OSError
helper.subprocess = subprocess
"""
# all kernels seem to be missing, so that the kernels that the tests have will do
SEEM_MISSING = """
from sklearn_ltr._core.compile.cache import KernelCache
KernelCache.is_stored = lambda cache: False
"""
ELSEWHERE = {
    "a worker of joblib": """
        from joblib import Parallel, delayed
        Parallel(2)(delayed(fit)() for _ in range(2))
    """,
    "a forked child": """
        child = os.fork()
        if child == 0:
            fit()
            os._exit(0)
        os.waitpid(child, 0)
    """,
    "a frozen program": """
        sys.frozen = True
        fit()
    """,
    "another program": """
        sys.executable = "/bin/application"
        fit()
    """,
    "a thread": """
        import threading
        thread = threading.Thread(target=fit)
        thread.start()
        thread.join()
    """,
}


@on_linux
@pytest.mark.slow
@pytest.mark.parametrize("where", ["a program", *ELSEWHERE])
def test_a_first_fit_starts_a_process_in_a_program_and_not_elsewhere(where, tmp_path):
    fit = FIT + SEEM_MISSING + NOTE.format(path=str(tmp_path / "x"))
    (tmp_path / "fits.py").write_text(fit)  # workers of joblib read it from a file
    script = "from fits import *\n" + textwrap.dedent(ELSEWHERE.get(where, "fit()"))
    command = [sys.executable, "-W", "ignore", "-c", script]
    own = environment(tmp_path)
    kernels = {n: v for n, v in os.environ.items() if n == "NUMBA_CACHE_DIR"}
    del own["NUMBA_CACHE_DIR"]
    subprocess.run(command, env=own | kernels, check=True)
    assert (tmp_path / "x").exists() == (where == "a program")


@on_linux
@pytest.mark.slow
@pytest.mark.parametrize("ends_by", ["SIGKILL", "SIGTERM", "SIGINT", "SIGSEGV"])
def test_a_helper_ends_within_a_second_of_its_parent(ends_by, tmp_path):
    script = FIT + "fit()\n"
    process = subprocess.Popen(
        [sys.executable, "-c", script], env=environment(tmp_path),
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    with process:
        end = time.monotonic() + 120
        while not (below := children_of(process.pid)):
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.05)
        process.send_signal(getattr(signal, ends_by))
        process.wait(timeout=60)
    end = time.monotonic() + 1
    while any(state_and_parent(one)[0] != "Z" for one in below):
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_helper_whose_parent_has_ended_ends_at_once(tmp_path):
    command = helper.command(ahead_of_time.__name__, "symmetric")
    command[4] = "1"  # it is the child of another process
    done = subprocess.run(command, env=environment(tmp_path), timeout=60)
    assert done.returncode == 0
    assert list(tmp_path.rglob("*.nbc")) == []


# --- what limits leave ----------------------------------------------------------------


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Files of a machine with 8 GB left, and a group of 1 GB, of which half is used."""
    group = tmp_path / "groups" / "user" / "job"
    group.mkdir(parents=True)
    (tmp_path / "proc" / "self").mkdir(parents=True)
    (tmp_path / "proc" / "meminfo").write_text(
        "MemFree: 5 kB\nMemAvailable: 8000000 kB\n"
    )
    (tmp_path / "proc" / "self" / "cgroup").write_text("0::/user/job\n")
    (group / "memory.max").write_text("max\n")
    (group.parent / "memory.max").write_text("1000000000\n")
    (group.parent / "memory.current").write_text("600000000\n")
    (group.parent / "memory.stat").write_text("anon 5\ninactive_file 100000000\n")
    (group / "pids.max").write_text("200\n")
    (group / "pids.current").write_text("150\n")
    monkeypatch.setattr(room_left, "PROC", tmp_path / "proc")
    monkeypatch.setattr(room_left, "GROUPS", tmp_path / "groups")
    monkeypatch.setattr(os, "getuid", lambda: 1000)
    monkeypatch.setattr(room_left, "soft_limit", lambda kind: math.inf)
    return tmp_path


def test_the_least_limit_counts(machine, monkeypatch):
    assert room_left.bytes_left() == 500_000_000
    assert room_left.processes_left() == 50
    (machine / "proc" / "meminfo").write_text("MemAvailable: 1000 kB\n")
    assert room_left.bytes_left() == 1_024_000
    monkeypatch.setattr(room_left, "soft_limit", lambda kind: 70.0)
    (machine / "proc" / "12").mkdir()
    own = (machine / "proc" / "12").stat().st_uid
    monkeypatch.setattr(os, "getuid", lambda: own)
    for task in "12", "13", "14":
        (machine / "proc" / "12" / "task" / task).mkdir(parents=True)
    assert room_left.n_tasks_of_user() == 3
    assert room_left.processes_left() == (50 if own == 0 else min(50, 67))
    assert room_left.addresses_left() == 70.0
    monkeypatch.setattr(room_left, "soft_limit", lambda kind: 900_000.0)
    (machine / "proc" / "self" / "status").write_text("VmPeak: 9 kB\nVmSize: 800 kB\n")
    assert room_left.own_bytes_left() == 900_000 - 800 * 1024
    assert room_left.bytes_left() == 1_024_000  # of another process


def test_limits_of_the_older_kind_of_groups_count(machine):
    (machine / "proc" / "self" / "cgroup").write_text(
        "5:memory:/user\n4:pids:/user\n1:name=x:/\n"
    )
    group = machine / "groups" / "memory" / "user"
    group.mkdir(parents=True)
    (group / "memory.limit_in_bytes").write_text("300000000\n")
    (group / "memory.usage_in_bytes").write_text("100000000\n")
    assert room_left.bytes_left() == 200_000_000
    pids = machine / "groups" / "pids" / "user"
    pids.mkdir(parents=True)
    (pids / "pids.max").write_text("max\n")
    assert room_left.processes_left() == math.inf


def test_where_there_are_no_such_files_nothing_is_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(room_left, "PROC", tmp_path)
    monkeypatch.setattr(room_left, "GROUPS", tmp_path)
    monkeypatch.setattr(room_left, "resource", None)
    assert room_left.bytes_left() == math.inf
    assert room_left.own_bytes_left() == math.inf
    assert room_left.addresses_left() == math.inf
    assert room_left.processes_left() == math.inf
