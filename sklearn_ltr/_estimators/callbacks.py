"""The steps of a fit, reported to scikit-learn's callbacks (scikit-learn >= 1.9).

A fit is a task, and each of its trees or epochs a subtask.  A callback may read the
model of the steps so far, and may end the fit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from sklearn_ltr._estimators.state import fitted_attributes

try:
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback import with_callbacks as decorate
except ImportError:  # scikit-learn < 1.9 has no callbacks
    decorate = None

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Do nothing."""


__all__ = ["CallbackSupportMixin", "FitTasks", "with_callbacks"]

F = TypeVar("F", bound=Callable[..., Any])
FittedAttributes = Callable[[], dict[str, Any]]  # of the model of the steps so far


def with_callbacks(method: F) -> F:
    """Decorate `fit` so that callbacks are torn down however it ends."""
    return method if decorate is None else cast(F, decorate(method))


class FitTasks:
    """The task of a fit, and the subtask of its present step.

    Parameters
    ----------
    estimator : estimator
        As the callbacks know it.
    model : estimator
        Its copy, which is fitted (:func:`~sklearn_ltr._estimators.state.refit`).
    step : str
        Name of a step: "tree", "epoch".
    n_steps : int
        Maximum number of steps.
    X, y : array-likes
        As given to `fit`.
    **metadata
        The other arguments of `fit`; those that are None are left out.
    """

    def __init__(
        self,
        estimator: Any,
        model: Any,
        step: str,
        n_steps: int,
        X: Any,
        y: Any,
        **metadata: Any,
    ) -> None:
        given = {name: value for name, value in metadata.items() if value is not None}
        self._model = model
        self._arguments = {"estimator": estimator, "X": X, "y": y, "metadata": given}
        self._step, self._n_left = step, n_steps
        self._fit: Any = None
        if hasattr(estimator, "_init_callback_context"):
            self._fit = estimator._init_callback_context(max_subtasks=n_steps)
            self._fit.call_on_fit_task_begin(**self._arguments)
            if n_steps > 0:
                self._begin_step()

    def _begin_step(self) -> None:
        self._task = self._fit.subcontext(task_name=self._step)
        self._task.call_on_fit_task_begin(**self._arguments)

    def end_step(self, fitted: FittedAttributes, *, last: bool) -> bool:
        """Report the end of a step; return whether the fit ends here.

        It does if `last` says so, or a callback.  `fitted` returns attributes that
        the model has not yet.
        """
        if self._fit is None:
            return last
        self._n_left -= 1
        estimator = self._arguments["estimator"]
        stopped = self._task.call_on_fit_task_end(
            **self._arguments,
            reconstruction_attributes=lambda: (
                fitted_attributes(self._model, estimator) | fitted()
            ),
        )
        if not (last or stopped) and self._n_left > 0:
            self._begin_step()
        return last or bool(stopped)

    def end(self) -> None:
        """Report the end of the fit."""
        if self._fit is not None:
            self._fit.call_on_fit_task_end(
                **self._arguments, reconstruction_attributes=dict
            )
