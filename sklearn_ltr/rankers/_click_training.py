"""Training on clicks: what `fit` is told about how documents were shown."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._parameters import check_choice
from sklearn_ltr._queries import Exposure, TrainingData
from sklearn_ltr.rankers._base import BaseRanker

FloatArray = NDArray[np.float64]

BIASES = (None, "additive")


class ClickTraining(BaseRanker):
    """A ranker that can correct for the position at which a document was clicked."""

    position_bias: Literal["additive"] | None
    position_bias_: FloatArray  # only if position_bias is not None

    __metadata_request__fit: ClassVar[dict[str, bool]] = {"positions": True}

    def _check_position_bias(self) -> None:
        """Raise an error for a parameter out of its range."""
        check_choice(self, "position_bias", BIASES)

    def _check_exposure(self, exposure: Exposure) -> None:
        """Raise a ValueError unless `fit` was given what the parameters need."""
        if self.position_bias is not None and exposure.positions is None:
            raise ValueError(
                f"positions is None, but position_bias={self.position_bias!r} learns "
                "the bias of each: give where each row was shown, 0 is first. Inside a "
                "meta-estimator, positions only arrives after "
                "sklearn.set_config(enable_metadata_routing=True)"
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

    def _start_bias(self, *, continues: bool) -> FloatArray | None:
        """Return the bias that an earlier fit has learned, if this one continues it.

        Of another kind, or if this fit learns none, it is dropped.
        """
        earlier: FloatArray | None = self.__dict__.pop("position_bias_", None)
        n_dimensions = {"additive": 1}.get(self.position_bias or "")
        if not continues or earlier is None or earlier.ndim != n_dimensions:
            return None
        return earlier
