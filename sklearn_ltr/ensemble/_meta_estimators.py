"""What estimators made of other rankers share: bags, blends, searches, calibration."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import Tags, get_tags
from sklearn.utils.metadata_routing import UNUSED

from sklearn_ltr._core.data import COLUMNS
from sklearn_ltr._core.data.columns import TEXTS
from sklearn_ltr._core.data.labels import label_shares, names_of_columns
from sklearn_ltr._core.data.pairs import PAIR_ARGUMENTS
from sklearn_ltr._core.docstrings import fill_in
from sklearn_ltr._core.parts import name_part
from sklearn_ltr._core.rankers.base import BaseRanker
from sklearn_ltr._core.rankers.lambdamart import LambdaMARTRanker
from sklearn_ltr._core.ranking.reading import LabelChoice
from sklearn_ltr.ensemble._members import ranker_within

F = TypeVar("F", bound=Callable[..., Any])

#: requests of a `fit` that takes no validation data: its folds have rows of their own
NO_VALIDATION = dict.fromkeys(
    ("X_val", "y_val", "groups_val", "sample_weight_val"), UNUSED
)


class MetaRanker(BaseRanker):
    """A ranker made of others, whose inputs, labels and features are theirs."""

    _takes_labels = True
    _given: ClassVar[str] = "ranker"  # the parameter that is a ranker, or None
    _parts: ClassVar[str]  # the fitted attribute that holds what scores
    __getattr__ = name_part

    def _rankers(self) -> Sequence[BaseEstimator]:
        """Return the rankers that were given, or are taken if none were."""
        given = getattr(self, self._given)
        return [LambdaMARTRanker() if given is None else given]

    def _labels_of(self, y: ArrayLike | None, *, measured: bool = True) -> LabelChoice:
        """Return the weights of labels that the rankers agree on."""
        # a ValueError if they do not; if nothing is measured, they need not agree
        names = names_of_columns(y)
        if len(names) == 1:
            return LabelChoice(True, None)
        learners = [ranker_within(ranker) for ranker in self._rankers()]
        shares = [
            label_shares(ranker._labels_of(y, measured=measured).weights, names)
            for ranker in learners
            if isinstance(ranker, BaseRanker) and ranker._takes_labels
        ]
        differing = [other for other in shares if not np.array_equal(other, shares[0])]
        if measured and differing:
            raise ValueError(
                "a mean over labels is by the label_weights of the rankers, which "
                f"differ: {shares[0].tolist()} and {differing[0].tolist()}; give "
                "rankers of the same label_weights, or measure one label, as in "
                "score(label=0)"
            )
        return LabelChoice(True, None if differing or not shares else shares[0])

    def __sklearn_tags__(self) -> Tags:
        """Return the tags: inputs that all rankers accept."""
        tags = super().__sklearn_tags__()
        rankers = self._rankers()
        # a Pipeline takes the values that its first step takes, and does not say so
        readers = [getattr(r, "steps", [("", r)])[0][1] for r in rankers]
        of = [get_tags(ranker).input_tags.sparse for ranker in rankers]
        tags.input_tags.sparse = all(of)
        of = [get_tags(reader).input_tags.allow_nan for reader in readers]
        tags.input_tags.allow_nan = all(of)
        return tags

    @property
    def _first(self) -> Any:
        """The first fitted estimator that scores."""
        parts = getattr(self, self._parts)
        return parts[0] if isinstance(parts, list) else parts

    @property
    def n_features_in_(self) -> int:
        """Number of features seen by `fit`."""
        return int(self._first.n_features_in_)

    @property
    def feature_names_in_(self) -> NDArray[np.object_]:
        """Names of the features seen by `fit`."""
        names: NDArray[np.object_] = self._first.feature_names_in_
        return names


def check_estimator(name: str, value: object) -> None:
    """Raise a TypeError for a parameter that is neither an estimator nor None."""
    if value is not None and not is_estimator(value):
        raise TypeError(
            f"{name} must be an estimator with fit and predict, or None, got {value!r}"
        )


def is_estimator(value: object) -> bool:
    """Whether a value is an instance that predicts."""
    return hasattr(value, "predict") and not isinstance(value, type)


def with_seeds(
    estimator: BaseEstimator, rng: np.random.Generator, *, only_unset: bool
) -> BaseEstimator:
    """Return a clone with new seeds for all, or all unset, `random_state` within."""
    model = clone(estimator)
    seeded = [
        name
        for name, value in sorted(model.get_params(deep=True).items())
        if name.rpartition("__")[2] == "random_state"
        and (value is None or not only_unset)
    ]
    return model.set_params(**{name: int(rng.integers(2**31)) for name in seeded})


def takes_columns(
    *,
    validation: bool = False,
    prediction: bool = False,
    pairs: bool = False,
    holds_out: bool = True,
) -> Callable[[F], F]:
    """Name the declared columns where a method's signature and docstring say `columns`.

    What stands in braces there becomes the text of columns.  Columns of validation
    data, columns that predictions need, too, the arguments that judge pairs, and those
    that say what is held out are named only if `validation`, `prediction`, `pairs` and
    `holds_out` ask for them.
    """
    names = [
        name
        for name, column in COLUMNS.items()
        if (prediction or not column.in_predict) and (holds_out or not column.holds_out)
    ]
    if validation:
        names += [f"{n}_val" for n in names if COLUMNS[n].in_validation]
    if pairs:
        names += PAIR_ARGUMENTS

    def decorate(method: F) -> F:
        signature = inspect.signature(method)
        *own, rest = signature.parameters.values()
        added = [name for name in names if name not in signature.parameters]
        parameters = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None)
            for name in added
        ]
        named = signature.replace(parameters=[*own, *parameters])
        method.__signature__ = named  # type: ignore[attr-defined]
        text = fill_in(method.__doc__ or "", TEXTS)
        method.__doc__ = text.replace(f"{rest.name} :", f"{', '.join(added)} :")
        return method

    return decorate
