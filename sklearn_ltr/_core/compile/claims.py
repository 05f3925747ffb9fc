"""Which process compiles which kernel, where several share a folder.

A process that is about to compile a kernel claims it; another that needs it waits, and
then reads it from the file.  A claim is a lock on one byte of a file of the folder, so
it ends with the process.  Where the folder has no locks, as on Windows, nobody waits:
each process compiles what it needs.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None  # type: ignore[assignment]

ARE_KNOWN = fcntl is not None  # whether processes know each other's claims
FILE = ".claims"
MOST_SECONDS = 30.0  # to wait for a claim: another process may have been stopped
LOOK_AGAIN = 0.02  # seconds

_FILES: dict[str, int] = {}  # by folder; to close one would end all claims in it


def claim(folder: str, name: str) -> None:
    """Claim a kernel by the name of its file; wait while another process has it."""
    end = time.monotonic() + MOST_SECONDS
    with contextlib.suppress(OSError):
        while not _try_to_lock(folder, name) and time.monotonic() < end:
            time.sleep(LOOK_AGAIN)


def claim_now(folder: str, name: str) -> bool:
    """Claim something without waiting; return whether no other process has it."""
    with contextlib.suppress(OSError):
        return _try_to_lock(folder, name)
    return False


def give_up(folder: str, name: str) -> None:
    """End a claim."""
    if fcntl is not None and folder in _FILES:
        with contextlib.suppress(OSError):
            fcntl.lockf(_FILES[folder], fcntl.LOCK_UN, 1, _byte_of(name))


def give_up_all() -> None:
    """End all claims, also of kernels whose compiling an error has ended."""
    for file in _FILES.values() if fcntl is not None else ():
        with contextlib.suppress(OSError):
            fcntl.lockf(file, fcntl.LOCK_UN)


def _try_to_lock(folder: str, name: str) -> bool:
    """Lock the byte of a name; return False if another process has it."""
    if fcntl is None:
        return True
    if folder not in _FILES:
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, FILE)
        _FILES[folder] = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.lockf(_FILES[folder], fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _byte_of(name))
    except (BlockingIOError, PermissionError):  # which of them depends on the system
        return False
    return True


def _byte_of(name: str) -> int:
    """Return the byte that stands for a name."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:3], "big")
