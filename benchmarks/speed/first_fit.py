"""What a first fit from a clone costs: seconds, CPU seconds, memory, processes.

    python -m benchmarks.speed.first_fit --other ../the_version_before

Each fit is that of a new process with an empty cache of kernels: with the process that
compiles beside it, without it, and with the package of another checkout; in turn, on
two CPUs and on one, beside two busy processes, and in a control group of one CPU and
1 GB (as root, on Linux).  CPU seconds and memory are those of all its processes.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.tools.measuring import busy_processes
from benchmarks.tools.records import ROOT, append_json, machine, parser_of

CGROUP = Path("/sys/fs/cgroup")
# files of a control group of one CPU and 1 GB, of version 2 or 1
LIMITS = (
    {"first_fit/memory.max": "1000000000", "first_fit/cpu.max": "100000 100000"},
    {
        "memory/first_fit/memory.limit_in_bytes": "1000000000",
        "cpu/first_fit/cpu.cfs_quota_us": "100000",
        "cpu/first_fit/cpu.cfs_period_us": "100000",
    },
)
TICKS = os.sysconf("SC_CLK_TCK")
FIT = """
import numpy as np
from sklearn_ltr import LambdaMARTRanker
rng = np.random.default_rng(0)
X, groups = rng.normal(size=(3_000, 10)), np.repeat(np.arange(150), 20)
y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 1)
LambdaMARTRanker(random_state=0).fit(X, y, groups=groups)
"""


def processes_of(root: int) -> list[int]:
    """Return a process and all below it."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(folder.name))
    found = [root]
    for process in found:
        found += children.get(process, [])
    return found


def measured(root: int) -> tuple[int, float, dict[int, float]]:
    """Return the number, the megabytes and the CPU seconds of a process's tree."""
    number, megabytes, seconds = 0, 0.0, {}
    for process in processes_of(root):
        with contextlib.suppress(OSError, IndexError, StopIteration):
            fields = (
                Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            )
            seconds[process] = (int(fields[11]) + int(fields[12])) / TICKS
            lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
            pss = next(line for line in lines if line.startswith("Pss:"))
            megabytes += int(pss.split()[1]) / 1024
            number += 1
    return number, megabytes, seconds


def run(program: list[str], place: Path, prepare: Callable[[], None], **more: str):
    """Run a program with an empty cache; return what it has cost."""
    with tempfile.TemporaryDirectory() as cache:
        own = {"NUMBA_CACHE_DIR": cache, "PYTHONPATH": str(place)} | more
        start = time.perf_counter()
        process = subprocess.Popen(
            program, env=os.environ | own, preexec_fn=prepare, cwd=place,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        most, peak, seconds = 0, 0.0, {}
        ended = threading.Event()

        def watch() -> None:
            nonlocal most, peak
            while not ended.wait(0.2):
                number, megabytes, of_each = measured(process.pid)
                most, peak = max(most, number), max(peak, megabytes)
                seconds.update(of_each)

        watcher = threading.Thread(target=watch)
        watcher.start()
        failed = process.wait()
        wall = time.perf_counter() - start
        ended.set()
        watcher.join()
        left = [one for one in seconds if Path(f"/proc/{one}/exe").exists()]
        for one in left:  # of a version that leaves some
            with contextlib.suppress(OSError):
                os.kill(one, 9)
    return {
        "wall_s": wall,
        "cpu_s": sum(seconds.values()),
        "peak_mb": peak,
        "processes": most,
        "left": len(left),
        "failed": failed,
    }


def limit_to(n_cores: int) -> None:
    """Let this process use so many CPUs."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:n_cores])


def new_groups() -> list[Path]:
    """Make the control groups of one CPU and 1 GB; none where that is impossible."""
    for limits in LIMITS:
        with contextlib.suppress(OSError):
            for name, value in limits.items():
                (CGROUP / name).parent.mkdir(exist_ok=True)
                (CGROUP / name).write_text(value)
            return sorted({(CGROUP / name).parent for name in limits})
    return []


def enter(groups: list[Path]) -> None:
    """Let this process be one of some control groups."""
    for group in groups:
        (group / "cgroup.procs").write_text(str(os.getpid()))


def measure(arguments: argparse.Namespace) -> list[dict]:
    """Return the medians of each program in each condition."""
    example = [sys.executable, "examples/01_first_ranker.py"]
    fit = [sys.executable, "-c", FIT]
    programs = {"with": (ROOT, {}), "without": (ROOT, {arguments.switch: "0"})}
    if arguments.other is not None:
        programs["other version"] = (arguments.other.resolve(), {})
    conditions = {
        "two CPUs": (fit, 0, partial(limit_to, 2)),
        "one CPU": (fit, 0, partial(limit_to, 1)),
        "beside two busy processes": (fit, 2, partial(limit_to, 2)),
        "README's example": (example, 0, partial(limit_to, 2)),
    }
    if groups := new_groups():
        conditions["a group of one CPU and 1 GB"] = (fit, 0, partial(enter, groups))
    records = []
    for condition, (program, n_busy, prepare) in conditions.items():
        if arguments.only and arguments.only not in condition:
            continue
        found: dict[str, list[dict]] = {name: [] for name in programs}
        with busy_processes(n_busy):
            for _ in range(arguments.rounds):
                for name, (place, more) in programs.items():
                    found[name].append(run(program, place, prepare, **more))
        for name, costs in found.items():
            medians = {
                key: float(np.median([c[key] for c in costs])) for key in costs[0]
            }
            records.append({"condition": condition, "program": name} | medians)
            print(
                f"{condition:<28}{name:<15}{medians['wall_s']:7.1f} s"
                f"{medians['cpu_s']:7.1f} CPU s{medians['peak_mb']:7.0f} MB"
                f"{medians['processes']:4.0f} processes{medians['left']:4.0f} left",
                flush=True,
            )
    return records


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--other", type=Path, help="another checkout")
    parser.add_argument("--only", help="a part of the name of a condition")
    parser.add_argument("--switch", default="SKLEARN_LTR_COMPILE_HELPER")
    arguments = parser.parse_args()
    print(machine())
    append_json(arguments.json, measure(arguments))


if __name__ == "__main__":
    main()
