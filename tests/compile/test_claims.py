"""Processes that share a folder compile each kernel once, and never wait for ever."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from sklearn_ltr._core.compile import claims
from sklearn_ltr._core.compile.kernels import USES_INTERNALS

pytestmark = pytest.mark.skipif(
    not USES_INTERNALS or claims.fcntl is None, reason="nothing is claimed"
)

# the file alone, as to import the package takes a hundred times as long
CLAIMS = f"import sys\nexec(open({claims.__file__!r}, encoding='utf-8').read())"
HOLD = f"""
{CLAIMS}
claim(*sys.argv[1:])
print("claimed", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def holder(tmp_path):
    """Another process, which has claimed the kernel "a" of a folder."""
    command = [sys.executable, "-c", HOLD, str(tmp_path), "a"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as process:
        assert process.stdout.readline() == "claimed\n"
        yield process
        process.kill()


def seconds_to_claim(folder, name):
    start = time.monotonic()
    claims.claim(str(folder), name)
    return time.monotonic() - start


def test_another_kernel_is_not_waited_for(holder, tmp_path):
    assert seconds_to_claim(tmp_path, "b") < 5.0


def test_a_claim_ends_with_its_process(holder, tmp_path, monkeypatch):
    waits = []

    def sleep(seconds):
        waits.append(seconds)
        holder.kill()
        holder.wait()

    monkeypatch.setattr(claims.time, "sleep", sleep)
    claims.claim(str(tmp_path), "a")
    assert len(waits) == 1


def test_a_stopped_process_is_not_waited_for_for_ever(holder, tmp_path, monkeypatch):
    monkeypatch.setattr(claims, "MOST_SECONDS", 0.2)
    assert 0.2 <= seconds_to_claim(tmp_path, "a") < 5.0


def test_a_process_does_not_wait_for_itself(tmp_path):
    assert seconds_to_claim(tmp_path, "a") < 5.0
    assert seconds_to_claim(tmp_path, "a") < 5.0
    claims.give_up(str(tmp_path), "a")
    claims.give_up(str(tmp_path), "never claimed")


def test_a_folder_that_cannot_be_written_has_no_claims(tmp_path):
    (tmp_path / "file").write_text("")
    assert seconds_to_claim(tmp_path / "file" / "folder", "a") < 5.0
    claims.give_up(str(tmp_path / "file" / "folder"), "a")


COMPILE_THREE = """
from sklearn_ltr._core.compile import KERNELS
from sklearn_ltr._core.compile.arithmetic import exp2_of, expit_of, log2_of
exp2_of([1.0]), log2_of([1.0]), expit_of([1.0])
print(sum(sum(k.stats.cache_misses.values()) for k in KERNELS.values()))
"""


def test_processes_that_begin_together_compile_each_kernel_once(tmp_path):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", COMPILE_THREE]
    processes = [
        subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    n_compiled = [int(process.communicate()[0]) for process in processes]
    assert sum(n_compiled) == len(list(tmp_path.rglob("*.nbc"))) == 3


CLAIM_AND_END = f"""
{CLAIMS}
for end in (lambda: give_up(sys.argv[1], "a"), give_up_all):
    claim(sys.argv[1], "a")
    print("claimed", flush=True)
    sys.stdin.readline()
    end()
    print("given up", flush=True)
    sys.stdin.readline()
"""


def test_claims_end_one_by_one_or_all_together(tmp_path):
    command = [sys.executable, "-c", CLAIM_AND_END, str(tmp_path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as process:
        for expected in 2 * ["claimed", "given up"]:
            assert process.stdout.readline() == f"{expected}\n"
            assert claims.claim_now(str(tmp_path), "a") == (expected == "given up")
            claims.give_up(str(tmp_path), "a")
            process.stdin.write("\n")
            process.stdin.flush()


def test_a_claim_can_be_tried_without_waiting(holder, tmp_path):
    assert not claims.claim_now(str(tmp_path), "a")
    assert claims.claim_now(str(tmp_path), "b")
    (tmp_path / "file").write_text("")
    assert not claims.claim_now(str(tmp_path / "file" / "folder"), "a")
