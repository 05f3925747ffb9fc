"""Fits by the actors of Ray; what actors import, which needs no Ray."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Rate:
    """A learning rate that, at a tree, ends or stops the first worker that comes there.

    A file in a folder marks that there was one.
    """

    folder: str
    tree: int
    signal: int = signal.SIGKILL
    caller: int = field(default_factory=os.getpid)  # has no worker

    def __call__(self, tree: int) -> float:
        if tree == self.tree and os.getpid() != self.caller:
            try:
                (Path(self.folder) / "came").touch(exist_ok=False)
            except FileExistsError:
                return 0.1
            time.sleep(0.5)  # in which others come to wait for this one
            os.kill(os.getpid(), self.signal)
        return 0.1
