"""The steps of a fit, told to the callbacks of scikit-learn (from 1.9 on).

A fit is a task, and each of its trees or epochs a subtask.  A callback may look at the
model that the steps so far have made, and may end the fit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

try:
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback import with_callbacks as decorate
except ImportError:  # an older scikit-learn: there is nobody to tell
    decorate = None

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Do nothing."""


__all__ = ["CallbackSupportMixin", "FitTasks", "with_callbacks"]

F = TypeVar("F", bound=Callable[..., Any])
Fitted = Callable[[], dict[str, Any]]  # the attributes of the model so far


def with_callbacks(method: F) -> F:
    """Let callbacks clear up behind a fit, however it ends."""
    return method if decorate is None else cast(F, decorate(method))


class FitTasks:
    """The task of a fit, and the subtask of its present step.

    Made before anything else in a fit that is `with_callbacks`: what that tears down
    must not be undone with a failed fit.

    Parameters
    ----------
    ranker : estimator
    step : str
        What to call a step: "tree", "epoch".
    n_steps : int
        How many there are, at the most.
    X, y : array-likes
        As given to `fit`.
    **metadata
        What else was given; None is left out.
    """

    def __init__(
        self, ranker: Any, step: str, n_steps: int, X: Any, y: Any, **metadata: Any
    ) -> None:
        given = {name: value for name, value in metadata.items() if value is not None}
        self._facts = {"estimator": ranker, "X": X, "y": y, "metadata": given}
        self._step, self._n_left = step, n_steps
        self._fit: Any = None
        if hasattr(ranker, "_init_callback_context"):
            self._fit = ranker._init_callback_context(max_subtasks=n_steps)
            self._fit.call_on_fit_task_begin(**self._facts)
            if n_steps > 0:
                self._begin_step()

    def _begin_step(self) -> None:
        self._task = self._fit.subcontext(task_name=self._step)
        self._task.call_on_fit_task_begin(**self._facts)

    def end_step(self, fitted: Fitted, *, last: bool) -> bool:
        """Tell that a step is done; return whether it is the last, or shall be."""
        if self._fit is None:
            return last
        self._n_left -= 1
        enough = self._task.call_on_fit_task_end(
            **self._facts, reconstruction_attributes=fitted
        )
        if not (last or enough) and self._n_left > 0:
            self._begin_step()
        return last or bool(enough)

    def end(self) -> None:
        """Tell that the model is fitted."""
        if self._fit is not None:
            self._fit.call_on_fit_task_end(
                **self._facts, reconstruction_attributes=dict
            )
