"""The monitor of a fit: measures the model after each step and stops it early.

It serves boosted trees (a step is a tree) and networks (a step is an epoch) alike.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from sklearn_ltr._core.comm import ONE_PROCESS
from sklearn_ltr._core.compile import (
    COMPILE_CLOCK,
    ThreadTeam,
    helper,
    stage,
    working_time,
)
from sklearn_ltr._core.estimators.base import FitParameters
from sklearn_ltr._core.typing import FloatArray

EvalsResult = dict[str, dict[str, FloatArray]]  # set -> measure -> values

TRAIN = "train"  # the set of the training data
SECONDS_PER_LINE = 5.0  # between two lines that `verbose=1` prints
LONG_COMPILING = 1.0  # seconds of compiling above which the last line states them


@dataclass
class Abandonment:
    """Whether fits in other threads have to end, as what they are a part of has."""

    is_set: bool = False

    @contextmanager
    def by_error(self) -> Iterator[None]:
        """Set it if this block, which waits for them, ends by an error or Ctrl-C."""
        try:
            yield
        except BaseException:
            self.is_set = True
            raise

    @contextmanager
    def of_fits(self) -> Iterator[None]:
        """Let the fits of this block, in this thread, end at the step they are at."""
        token = _abandonment.set(self)
        try:
            yield
        finally:
            _abandonment.reset(token)


_abandonment: ContextVar[Abandonment | None] = ContextVar("_abandonment", default=None)


class Measure(Protocol):
    """A measure of some data during a fit, which is handed the scores it measures.

    Attributes
    ----------
    higher_is_better : bool
    """

    higher_is_better: bool

    def update(self, scores: FloatArray, team: ThreadTeam | None = None) -> None:
        """Measure these scores from now on, (n_rows,); the array is not copied."""
        # by the threads of the team, where that is faster

    def value(self) -> float:
        """Return the measure of these scores."""


@dataclass
class Curve:
    """The values of one measure of one set, one for each step.

    Attributes
    ----------
    set_name, name : str
        "train", "validation", ..., and the name of the measure.
    measure : Measure
    values : list of float
        One for each call of `Monitor.record`; may begin with values of an earlier fit.
    """

    set_name: str
    name: str
    measure: Measure
    values: list[float] = field(default_factory=list)


@dataclass
class Monitor:
    """Measures all curves after each step, prints, and decides when to stop.

    Attributes
    ----------
    curves : list of Curve
    followed : Curve or None
        The curve that decides early stopping; None: no early stopping.
    parameters : FitParameters
        `n_iter_no_change`, the steps to wait for an improvement; `tol`, the smallest
        difference to the best value that counts as one; `verbose`, 0: print nothing; 1:
        a line every few seconds, and one at the end; more: a line after every step.
    kind : str
        The name of a step in printed lines: "tree" or "epoch".
    n_earlier, n_steps : int
        Number of steps of earlier fits that this one continues; number with the steps
        of this fit.
    first : int
        Index of the first value that may be the best one.
    print_line : callable
        Prints one line.
    best_index : int
        Index of the best value, the first of equal ones.
    """

    curves: list[Curve]
    followed: Curve | None
    parameters: FitParameters
    kind: str
    n_earlier: int
    n_steps: int
    first: int = 0
    print_line: Callable[[str], None] = ONE_PROCESS.print_line
    _waiting_since: int = 0
    best_index: int = field(default=0, init=False)
    _highest: float = field(default=-np.inf, init=False)

    def __post_init__(self) -> None:
        """Find the best of the earlier values, and begin to measure the time."""
        if self.followed is not None:
            for index in range(self.first, len(self.followed.values)):
                self._compare(self.followed, index)
        self._start = self._line_time = time.perf_counter()
        self._compiled = self._compiled_so_far = COMPILE_CLOCK.seconds()
        self._line_step, self._line_working = self.n_earlier, working_time()

    def record(self, step: int) -> bool:
        """Measure the model after a step; return whether to stop early."""
        if (abandonment := _abandonment.get()) and abandonment.is_set:
            raise RuntimeError("the fit that this one is a part of has ended")
        for curve in self.curves:
            curve.values.append(curve.measure.value())
        if self.followed is not None:
            self._compare(self.followed, self._last_index)
        stage(f"{self.kind} {step:,} of {self.n_steps:,}")
        compiled = COMPILE_CLOCK.seconds()
        if step > self.n_earlier and compiled == self._compiled_so_far:
            # the steps that follow need no other kernel
            helper.end()
        self._compiled_so_far = compiled
        seconds = time.perf_counter() - self._line_time
        verbose = self.parameters.verbose
        if verbose > 1 or (verbose == 1 and seconds >= SECONDS_PER_LINE):
            self._print_progress(step)
        if self.followed is None:
            return False
        waited = self._last_index - max(self.best_index, self._waiting_since)
        return waited >= self.parameters.n_iter_no_change

    def _print_progress(self, step: int) -> None:
        """Print the step, the time per step since the last line, and the best score."""
        # the first steps wait for kernels that are compiled, which the others do not
        working = working_time()
        parts = []
        for curve in self.curves:
            parts.append(value_text(curve, -1))
            if curve is self.followed:
                best = self.best_index
                best_step = step - (self._last_index - best)
                parts[-1] += f" (best {curve.values[best]:.4f} at {best_step})"
        n_new = step - self._line_step
        if n_new > 0:
            seconds = (working - self._line_working) / n_new
            parts.append(f"{seconds:.2g} s per {self.kind}")
        self.print_line(f"{self.kind} {step} of {self.n_steps}: {', '.join(parts)}")
        self._line_time, self._line_working = time.perf_counter(), working
        self._line_step = step

    def print_end(self, step: int, best_step: int | None, team: ThreadTeam) -> None:
        """Print the last step, the one that early stopping keeps, and the threads."""
        if self.parameters.verbose == 0:
            return
        line = f"{self.kind} {step} of {self.n_steps}"
        line = f"stopped at {line}" if step < self.n_steps else line
        if best_step is not None and self.followed is not None:
            line += f", best {best_step}"
            parts = [value_text(self.followed, best_step - step - 1)]
        else:
            parts = [value_text(curve, -1) for curve in self.curves]
        seconds = time.perf_counter() - self._start
        parts.append(f"{seconds:.1f} s with {team.in_words()}")
        compiled = COMPILE_CLOCK.seconds() - self._compiled
        if compiled >= LONG_COMPILING:
            parts.append(f"of which {compiled:.1f} s compiled kernels")
        self.print_line(f"{line}: {', '.join(parts)}")

    def restart_waiting(self) -> None:
        """Count the steps without improvement from the last recorded step on."""
        self._waiting_since = self._last_index

    @property
    def _last_index(self) -> int:
        """Index of the last value, with values of earlier fits counted."""
        return 0 if self.followed is None else len(self.followed.values) - 1

    def _compare(self, followed: Curve, index: int) -> None:
        """Store a value as best if it is better by more than `tol`; NaN never is."""
        value = followed.values[index]
        quality = value if followed.measure.higher_is_better else -value
        if quality > self._highest + self.parameters.tol:
            self.best_index, self._highest = index, quality

    @property
    def is_best(self) -> bool:
        """Whether the last value is the best one."""
        return self.best_index == self._last_index

    @property
    def stopping_values(self) -> FloatArray:
        """Values that decided early stopping, if they are not of training data."""
        if self.followed is None or self.followed.set_name == TRAIN:
            return np.empty(0)
        return np.array(self.followed.values)

    @property
    def train_values(self) -> FloatArray:
        """Values of the first measure of the training data; empty if there is none."""
        values = [c.values for c in self.curves if c.set_name == TRAIN]
        return np.array(values[0] if values else [])

    def result(self) -> EvalsResult:
        """Return the values of all curves."""
        found: EvalsResult = {}
        for curve in self.curves:
            found.setdefault(curve.set_name, {})[curve.name] = np.array(curve.values)
        return found


def value_text(curve: Curve, index: int) -> str:
    """Return one value of a curve for a line that is printed."""
    return f"{curve.set_name} {curve.name} {curve.values[index]:.4f}"


def curves_of(
    measures: Sequence[Mapping[str, Measure]], earlier: EvalsResult, n_steps: int
) -> list[Curve]:
    """Return a curve for each measure of each set, after `n_steps` earlier steps."""
    # The first set is that of the training data.  Values of the earlier steps are from
    # the earlier fit, NaN where it has none.
    curves, names = [], [TRAIN, *name_sets(len(measures) - 1)]
    for set_name, own_measures in zip(names, measures, strict=True):
        for name, measure in own_measures.items():
            before = earlier.get(set_name, {}).get(name, np.empty(0))
            known: list[float] = before[:n_steps].tolist()
            known += [np.nan] * (n_steps - len(known))
            curves.append(Curve(set_name, name, measure, known))
    return curves


def first_validation_curve(curves: list[Curve]) -> Curve | None:
    """Return the first measure of the first validation set, if there is one."""
    return next((curve for curve in curves if curve.set_name != TRAIN), None)


def name_sets(n_sets: int) -> list[str]:
    """Return the names of validation sets: "validation", or "validation_0", ..."""
    if n_sets == 1:
        return ["validation"]
    return [f"validation_{i}" for i in range(n_sets)]
