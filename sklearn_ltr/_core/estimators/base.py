"""The interface of every estimator to scikit-learn, and its saved state.

A fit sets all fitted attributes at once, or none (`refit`), and reports its steps to
scikit-learn's callbacks (`FitTasks`): a callback may read the model of the steps so
far, and may end the fit.  A saved model is made of parameters, arrays, a version and
checksums, and is checked when it is loaded.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from typing import Annotated, Any, ClassVar, Literal, Protocol, Self, TypeVar, cast

from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sklearn_ltr._core.caller import warn_caller
from sklearn_ltr._core.comm import Comm
from sklearn_ltr._core.compile import claims, helper, task
from sklearn_ltr._core.data import FitArguments, TrainingData
from sklearn_ltr._core.data.feature_reader import FeatureReader, given_values
from sklearn_ltr._core.estimators.arguments import (
    check_arguments,
    explain,
    explain_attributes,
    is_of_others,
)
from sklearn_ltr._core.estimators.attributes import Attribute, Attributes
from sklearn_ltr._core.parameters import BOOL, N_JOBS, VERBOSITY, Choice, integer, real
from sklearn_ltr._core.saving import KEY, checksum_of
from sklearn_ltr._core.typing import Seed

__all__ = [
    "Estimator",
    "CallbackSupportMixin",
    "FitParameters",
    "FitTasks",
    "NewerVersionWarning",
    "StepListener",
    "copy_attributes",
    "draw_seed",
    "loading",
    "refit",
    "require",
    "with_callbacks",
]

try:  # since scikit-learn 1.9, a fit reports its steps to callbacks
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback import with_callbacks as decorate
except ImportError:
    decorate = None

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Do nothing."""


PACKAGE = metadata.metadata("sklearn_ltr")
VERSION = PACKAGE["Version"]
SAVED = Attribute()  # attributes that are not declared are saved
VERSION_KEY = "_sklearn_ltr_version"  # in the pickled state of an estimator

E = TypeVar("E", bound=BaseEstimator)
M = TypeVar("M", bound="Estimator")
F = TypeVar("F", bound=Callable[..., Any])
FittedAttributes = Callable[[], dict[str, object]]  # of the model of the steps so far


@dataclass(frozen=True, kw_only=True)
class FitParameters(ABC):
    """The parameters of every estimator that is fitted step by step.

    They also know how its data are prepared (:mod:`.preparation`).

    Attributes
    ----------
    validation_fraction
        Fraction of the {units} held out for early stopping without `X_val`.
    n_jobs
        Most threads, never more than the cores this process may use.  None: more for
        larger data.  While other programs use the cores, fewer threads take part; the
        last line of `verbose` says how many did.  The number does not change the model.
    """

    early_stopping: Annotated[bool | Literal["auto"], Choice(True, False, "auto")]
    validation_fraction: Annotated[float, real(0, 1, "neither")]
    n_iter_no_change: Annotated[int, integer(1)]
    tol: Annotated[float, real(0)]
    warm_start: Annotated[bool, BOOL]
    random_state: Seed
    verbose: Annotated[int, VERBOSITY]
    n_jobs: Annotated[int | None, N_JOBS]

    @property
    def train_curve(self) -> str:
        """Name of the attribute that holds the first measure of the training data."""
        return "train_score_"

    @property
    def holds_out(self) -> bool:
        """Whether a part of the data is held out if no validation data are given."""
        return self.early_stopping is True

    # the data of a fit, in the order of `prepare`; all workers call these together, and
    # `found` are the fitted attributes found so far, to which they add

    @abstractmethod
    def read_rows(
        self,
        given: FitArguments,
        reader: FeatureReader,
        found: dict[str, Any],
        comm: Comm,
    ) -> tuple[TrainingData, list[TrainingData]]:
        """Return the training data, and the validation sets that were given."""

    @abstractmethod
    def hold_out(
        self, train: TrainingData, found: Mapping[str, Any], seed: int, comm: Comm
    ) -> tuple[TrainingData, TrainingData]:
        """Divide training data: the rows to learn from, and those that are held out."""

    def with_start(
        self,
        given: FitArguments,
        sets: list[TrainingData],
        found: dict[str, Any],
        comm: Comm,
    ) -> list[TrainingData]:
        """Return training data and validation sets with F_0."""
        return sets

    def choose_learned(
        self, train: TrainingData, comm: Comm, *, may_be_none: bool
    ) -> TrainingData:
        """Return the data to learn from; none is an error, unless it `may_be_none`."""
        return train


class NewerVersionWarning(UserWarning):
    """Warning: a newer version of sklearn_ltr has saved the model that is loaded.

    Examples
    --------
    >>> import warnings
    >>> from sklearn_ltr import NewerVersionWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", NewerVersionWarning)
    ...     # models that are loaded here are refused if a newer version saved them
    """


def page_template(urls: list[str]) -> str:
    """Return where the page of an estimator is, given the addresses of the project."""
    # `urls` are those of the package's metadata: "Documentation, https://..."
    for url in urls:
        label, _, address = url.partition(", ")
        if label.lower() == "documentation":
            page = "_generated/{estimator_module}.{estimator_name}.html"
            return f"{address.rstrip('/')}/{page}"
    return ""


PAGE = page_template(PACKAGE.get_all("Project-URL", []))
DOC_LINK_MODULE = "sklearn_ltr" if PAGE else ""  # whose estimators have such pages


class Estimator(BaseEstimator):
    """An estimator that stores its version in a pickle, and checks a loaded model.

    In notebooks it links to its page, if the documentation of the package has an
    address.

    Attributes
    ----------
    n_features_in_ : int
        Number of features at `fit`.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if they were strings.
    """

    # scikit-learn links estimators of this module by this template
    _doc_link_module: ClassVar[str] = DOC_LINK_MODULE
    _doc_link_template: ClassVar[str] = PAGE

    _is_network: ClassVar[bool] = False
    # The attributes of the class itself; `__init_subclass__` adds inherited ones
    _attributes: ClassVar[Attributes] = {
        "_set_before_fit": Attribute(when="set_params was called", saved=False)
    }
    _always: ClassVar[tuple[str, ...]] = ()  # names of attributes that every fit sets
    # Names of parameters that `set_params` has set: searches do so for each candidate
    _set_before_fit: frozenset[str] = frozenset()

    def __init_subclass__(cls, **kwargs: object) -> None:
        """Collect the attributes, and explain unknown arguments and attributes."""
        super().__init_subclass__(**kwargs)
        check_arguments(cls)
        own = vars(cls).get("_attributes", {})
        inherited = [getattr(base, "_attributes", {}) for base in cls.__bases__]
        cls._attributes = dict(ChainMap(own, *inherited))
        cls._always = tuple(
            name for name, a in cls._attributes.items() if not a.when and a.saved
        )
        explain_attributes(cls, cls._attributes)

    def __dir__(self) -> list[str]:
        """Return the names of the attributes, without those that are only errors."""
        return [name for name in super().__dir__() if not is_of_others(self, name)]

    def set_params(self, **params: Any) -> Self:
        """Set parameters of this estimator, and of those within.

        Parameters
        ----------
        **params : dict
            By name; ``<component>__<parameter>`` of an estimator within.

        Returns
        -------
        self : estimator

        Raises
        ------
        ValueError
            For an unknown parameter; the message suggests a similar one.
        """
        known = self.get_params()  # members of a blend, by name, included
        heads = dict.fromkeys(name.partition("__")[0] for name in params)
        if unknown := [name for name in heads if name not in known]:
            cls, own = type(self), list(self.get_params(deep=False))
            lines = [
                f"Invalid parameter {explain(name, '', cls, own)}" for name in unknown
            ]
            lines.append(f"{cls.__name__} takes {', '.join(own)}")
            raise ValueError("\n".join(lines))
        super().set_params(**params)
        if vars(self).keys().isdisjoint(self._always):
            self._set_before_fit |= params.keys()
        return self

    def __sklearn_clone__(self) -> Self:
        """Return a copy that is not fitted."""
        copied: Self = super().__sklearn_clone__()
        if self._set_before_fit:
            copied._set_before_fit = self._set_before_fit
        return copied

    def __getstate__(self) -> dict[str, object]:
        """Return the attributes, a checksum of each, and the version."""
        state = super().__getstate__()
        attributes = {
            name: value
            for name, value in state.items()
            if self._attributes.get(name, SAVED).saved
        }
        checksums = {name: checksum_of(value) for name, value in attributes.items()}
        return {**attributes, KEY: checksums, VERSION_KEY: VERSION}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Set the attributes; a ValueError if they are damaged."""
        # kernels do not check indices: damaged arrays would let them read any memory
        with loading(self, state) as attributes:
            saved = attributes.pop(KEY, {})
            for name in saved.keys() & attributes.keys():
                is_same = checksum_of(attributes[name]) == saved[name]
                require(is_same, f"its {name} is not what was saved")
            super().__setstate__(attributes)
            if not vars(self).keys().isdisjoint(self._always):
                self._check_state()

    def _check_state(self) -> None:
        """Raise an error if the fitted attributes do not fit together."""
        missing = [name for name in self._always if name not in vars(self)]
        require(not missing, f"it has no {missing}")

    @property
    def _features(self) -> FeatureReader:
        """What reads X."""
        return FeatureReader(type(self), vars(self))

    def _fitted(self) -> Self:
        """Return a copy that a fit in another thread does not change."""
        model = copy_attributes(self)
        if vars(model).keys().isdisjoint(self._always):
            check_is_fitted(model)  # raises; asked here only, as it takes its time
        return model


def draw_seed(random_state: Seed) -> int:
    """Draw the seed that all random numbers of a fit are derived from."""
    try:
        generator = check_random_state(random_state)
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"random_state={random_state!r} is not a seed: {error}"
        ) from None
    return int(generator.randint(2**31))


@contextmanager
def loading(
    estimator: BaseEstimator, state: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield the saved attributes; an error or a warning names the version."""
    name, saved_by = type(estimator).__name__, VERSION
    try:
        attributes = dict(state)
        saved_by = attributes.pop(VERSION_KEY, VERSION)
        is_newer = release_numbers(saved_by) > release_numbers(VERSION)
        yield attributes
    except Exception as error:
        raise ValueError(
            f"the saved {name} is damaged ({error}): load it from another copy, or "
            "fit it again"
            if saved_by == VERSION
            else f"this {name} was saved by sklearn_ltr {saved_by}, but {VERSION} "
            f"cannot read it ({error}): score with {saved_by}, or fit it again"
        ) from error
    if is_newer:
        warn_caller(
            f"this {name} was saved by sklearn_ltr {saved_by}, but this is the "
            f"older {VERSION}, where it may fail or score differently: upgrade, or fit "
            "it again",
            NewerVersionWarning,
        )


def require(condition: object, message: str) -> None:
    """Raise a ValueError unless the condition holds."""
    if not condition:
        raise ValueError(message)


def release_numbers(version: str) -> list[int]:
    """Return the numbers of a release: [1, 2, 0] for "1.2.0rc1"."""
    leading = re.split(r"[^\d.]", version)[0]
    return [int(part) for part in leading.split(".") if part]


def copy_attributes(estimator: E) -> E:
    """Return an estimator with the same attributes at this moment."""
    # all are read in one step, so they are of one fit even if another thread fits now
    copied = object.__new__(type(estimator))
    copied.__dict__ = vars(estimator).copy()
    return copied


@contextmanager
def refit(estimator: M) -> Iterator[M]:
    """Yield a copy without its fit; at the end, the estimator gets the new fit."""
    # It gets all attributes in one step, so that predictions in other threads and in
    # callbacks use either the old model or the new one.  If the block raises
    # (KeyboardInterrupt included), it gets none.  Parameters of the copy may change.
    before = set(vars(estimator))
    model = copy_attributes(estimator)
    for name in estimator._attributes:
        model.__dict__.pop(name, None)
    with task(f"the fit of {type(estimator).__name__}"):
        try:
            yield model
        finally:
            helper.end()
            claims.give_up_all()
    gone = before - vars(model).keys()
    kept = {n: value for n, value in vars(estimator).items() if n not in gone}
    estimator.__dict__ = kept | fitted_attributes(model, estimator)


def fitted_attributes(model: E, estimator: E) -> dict[str, object]:
    """Return the attributes of a fitted model that are new or changed."""
    parameters, other = estimator.get_params(deep=False), vars(estimator)
    return {
        name: value
        for name, value in vars(model).items()
        if name not in parameters and other.get(name, model) is not value
    }


def with_callbacks(method: F) -> F:
    """Decorate `fit` so that callbacks are torn down however it ends."""
    return method if decorate is None else cast(F, decorate(method))


class StepListener(Protocol):
    """A listener to the end of each step of a fit."""

    def end_step(self, fitted: FittedAttributes, *, last: bool) -> bool:
        """Return whether the fit ends; `fitted` returns the attributes so far."""


class FitTasks:
    """The task of a fit, and the subtask of its present step.

    `estimator` is the user's, which callbacks are given, `model` its copy, which is
    fitted (`refit`).  The arguments of `fit` are passed on to callbacks.
    """

    def __init__(
        self,
        estimator: BaseEstimator,
        model: BaseEstimator,
        step: str,
        n_steps: int,
        arguments: FitArguments,
    ) -> None:
        X, y, metadata = given_values(arguments.X), arguments.y, arguments.metadata
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
        """Report the end of a step to callbacks; return whether the fit ends."""
        # `fitted` returns the attributes that the model gets only when the fit has
        # ended
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
