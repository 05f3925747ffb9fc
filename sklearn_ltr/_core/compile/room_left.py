"""What the limits leave for another process, or for this one: memory, and processes.

On Linux these are the limits of control groups (as of containers), of the user and of
the machine.  Elsewhere nothing is known, and nothing counts as a limit.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from pathlib import Path

try:
    import resource
except ImportError:  # on Windows
    resource = None  # type: ignore[assignment]

PROC, GROUPS = Path("/proc"), Path("/sys/fs/cgroup")


def bytes_left() -> float:
    """Return the memory that another process may take, at most."""
    left = number_in(PROC / "meminfo", "MemAvailable:", default=math.inf) * 1024
    for group in groups("memory"):
        for limit, used, idle in (
            ("memory.max", "memory.current", "inactive_file"),  # version 2
            ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
        ):
            most = number_in(group / limit, default=math.inf)
            # files that were read count as used, but give way
            given_way = number_in(group / "memory.stat", idle, default=0.0)
            left = min(left, most - number_in(group / used, default=0.0) + given_way)
    return left


def addresses_left() -> float:
    """Return the size of the memory that a process may ask for, used or not."""
    return math.inf if resource is None else soft_limit(resource.RLIMIT_AS)


def own_bytes_left() -> float:
    """Return the memory that this process may take besides what it has, at most."""
    taken = number_in(PROC / "self/status", "VmSize:", default=0.0) * 1024
    return min(bytes_left(), addresses_left() - taken)


def processes_left() -> float:
    """Return how many processes and threads may be started, at most."""
    left = math.inf
    for group in groups("pids"):
        most = number_in(group / "pids.max", default=math.inf)
        left = min(left, most - number_in(group / "pids.current", default=0.0))
    if resource is not None and os.getuid() != 0:  # root has no limit
        most = soft_limit(resource.RLIMIT_NPROC)
        left = left if most == math.inf else min(left, most - n_tasks_of_user())
    return left


def groups(controller: str) -> Iterator[Path]:
    """Yield the folders of this process's control groups, up to the root."""
    try:
        lines = (PROC / "self/cgroup").read_text().splitlines()
    except OSError:  # not on Linux
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers in ("", controller):  # of version 2, or of version 1
            folder = GROUPS / controllers / path.lstrip("/")
            yield from (folder, *folder.parents[: len(Path(path).parts) - 1])


def number_in(file: Path, name: str = "", *, default: float) -> float:
    """Return the number behind a name in a file, the first number of it without one."""
    try:
        found = re.search(rf"^{name}\s*(\d+)", file.read_text(), re.MULTILINE)
    except OSError:
        return default
    return default if found is None else float(found[1])


def soft_limit(kind: int) -> float:
    """Return a limit of this process."""
    limit = resource.getrlimit(kind)[0]
    return math.inf if limit == resource.RLIM_INFINITY else limit


def n_tasks_of_user() -> int:
    """Return the number of threads of all processes of this user."""
    n_tasks = 0
    for folder in PROC.glob("[0-9]*"):
        try:
            if folder.stat().st_uid == os.getuid():
                n_tasks += len(os.listdir(folder / "task"))
        except OSError:  # it has ended
            continue
    return n_tasks
