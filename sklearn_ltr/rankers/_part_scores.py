"""The scores of the rankers that a ranker is made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._queries import count_rows
from sklearn_ltr.rankers._initial import check_base_scores

FloatArray = NDArray[np.float64]


def predict_scores(rankers: Sequence[Any], X: Any, name: str) -> list[FloatArray]:
    """Return the scores of documents by fitted rankers, each (n_documents,) float64.

    `name` is that of the list of rankers, for messages.
    """
    scores = [ranker.predict(X) for ranker in rankers]
    n_documents = count_rows(scores[0], f"what {name}[0] predicts")
    return [
        check_base_scores(scores_m, n_documents, f"what {name}[{m}] predicts")
        for m, scores_m in enumerate(scores)
    ]
