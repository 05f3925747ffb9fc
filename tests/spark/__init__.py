"""Fits by the tasks of Spark; what tasks import, which needs no PySpark."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin


class KillsItsProcess(RegressorMixin, BaseEstimator):
    """A base model that ends so many processes that it predicts in, but not this one.

    Their marks are files in a folder.
    """

    def __init__(self, folder: str, n_times: int) -> None:
        self.folder, self.n_times, self.pid_ = folder, n_times, os.getpid()

    def fit(self, X: Any, y: Any) -> KillsItsProcess:
        return self

    def predict(self, X: Any) -> Any:
        if os.getpid() != self.pid_:
            for number in range(self.n_times):
                try:
                    (Path(self.folder) / str(number)).touch(exist_ok=False)
                except FileExistsError:
                    continue
                time.sleep(0.5)  # in which others come to wait for this process
                os._exit(1)
        return np.zeros(len(X))
