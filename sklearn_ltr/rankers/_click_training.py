"""Training on clicks: what `fit` is told about how documents were shown."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._parameters import LARGEST, Range, check_choice, check_ranges
from sklearn_ltr._queries import Exposure, TrainingData
from sklearn_ltr.lambdas._position_bias import (
    AdditiveBias,
    PairwiseBias,
    PositionBias,
)
from sklearn_ltr.rankers._base import BaseRanker

FloatArray = NDArray[np.float64]

REGULARIZATION = {"additive": 0.3, "pairwise": 1.0}  # where the parameter is None
SMALLEST_PROPENSITY = 1e-6  # whose inverses, and products of these, stay moderate


class ClickTraining(BaseRanker):
    """A ranker that can correct for the position at which a document was clicked."""

    _biases: ClassVar[tuple[str | None, ...]] = (None, "additive", "pairwise")
    position_bias: Literal["additive", "pairwise"] | None
    bias_regularization: float | None
    min_propensity: float
    position_bias_: FloatArray  # only if position_bias is not None

    __metadata_request__fit: ClassVar[dict[str, bool]] = {
        "positions": True,
        "propensities": True,
    }

    def _check_position_bias(self) -> None:
        """Raise an error for a parameter out of its range."""
        check_choice(self, "position_bias", self._biases)
        check_ranges(
            self,
            [
                Range("bias_regularization", Real, 0, LARGEST, "both", optional=True),
                Range("min_propensity", Real, SMALLEST_PROPENSITY, 1, "both"),
            ],
        )
        if self.position_bias == "pairwise" and callable(self.objective):
            raise ValueError(
                "position_bias='pairwise' weighs pairs, and objective is a function, "
                "which is not told of pairs: give position_bias='additive'"
            )

    def _check_exposure(self, exposure: Exposure) -> None:
        """Raise a ValueError unless `fit` was given what the parameters need."""
        if self.position_bias is not None and exposure.positions is None:
            raise ValueError(
                f"positions is None, but position_bias={self.position_bias!r} learns "
                "the bias of each: give where each row was shown, 0 is first. Inside a "
                "meta-estimator, positions only arrives after "
                "sklearn.set_config(enable_metadata_routing=True)"
            )
        if exposure.propensities is None:
            return
        if self.position_bias is not None:
            raise ValueError(
                f"propensities are known, but position_bias={self.position_bias!r} "
                "would learn the bias of positions, too: give propensities with "
                "position_bias=None"
            )
        if callable(self.objective):
            raise ValueError(
                "propensities weigh pairs, and objective is a function, which is not "
                "told of pairs: leave propensities out, or weigh in the function"
            )

    def _read_shown_data(
        self,
        X: Any,
        y: Any,
        groups: Any,
        sample_weight: Any,
        exposure: Exposure,
        *,
        reset: bool,
    ) -> TrainingData:
        """Read the training data, with positions only if they are used."""
        self._check_exposure(exposure)
        data = self._read_training_data(
            X, y, groups, sample_weight, exposure, reset=reset
        )
        return data if self.position_bias else replace(data, positions=None)

    def _new_bias(self, data: TrainingData, *, continues: bool) -> PositionBias | None:
        """Return the bias to learn, None if there is none.

        It begins with what an earlier fit has learned, if this one continues it and the
        kind is the same; else it is dropped.
        """
        earlier: FloatArray | None = self.__dict__.pop("position_bias_", None)
        if self.position_bias is None or data.positions is None:
            return None
        is_pairwise = self.position_bias == "pairwise"
        n_rows, none = (2, 1.0) if is_pairwise else (1, 0.0)
        if not continues or earlier is None or earlier.ndim != n_rows:
            earlier = np.empty((n_rows, 0))
        n_positions = int(data.positions.max()) + 1
        values = np.full((n_rows, max(n_positions, earlier.shape[-1])), none)
        values[:, : earlier.shape[-1]] = earlier
        regularization = self.bias_regularization
        if regularization is None:
            regularization = REGULARIZATION[self.position_bias]
        if is_pairwise:
            smallest = self.min_propensity
            return PairwiseBias(data.positions, values, regularization, smallest)
        return AdditiveBias(data.positions, values[0], regularization)

    def _pair_weights(
        self, data: TrainingData, bias: PositionBias | None
    ) -> FloatArray | None:
        """Return the weights of pairs, None if all weigh the same."""
        if data.propensities is None:
            return None if bias is None else bias.pair_weights
        clipped = np.maximum(data.propensities, self.min_propensity)
        return np.stack((1.0 / clipped, np.ones(data.n_rows)))
