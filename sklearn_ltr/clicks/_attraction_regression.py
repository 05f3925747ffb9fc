r"""The M step of an attractiveness that is a function of features.

The E step says of each document how often it was shown, n, and how often it then
attracted, a (an expectation).  A classifier is fitted to a row of class 1 with weight a
and a row of class 0 with weight n - a for each document: so what it maximises is the
expected log-likelihood of the complete data.  (Wang et al. draw a class for each row of
the log, which has the same mean, and more noise.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from sklearn_ltr._data.rows import index_rows
from sklearn_ltr.clicks._em import Table
from sklearn_ltr.mart import MARTClassifier

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

NEAREST = 1e-9  # a rate from a classifier is so far from 0 and 1, where EM would stay


class AttractionRegression:
    """Fits a clone of a classifier in each M step.

    Parameters
    ----------
    classifier : classifier
    X : table of features
    rows : (n_pairs,) int64
        Row of X of each pair.
    table : Table
        Its units are the pairs.

    Attributes
    ----------
    fitted : classifier
        The last one.
    """

    def __init__(self, classifier: Any, X: Any, rows: IntArray, table: Table) -> None:
        self._classifier, self._X = classifier, index_rows(X, rows)
        self._twice = index_rows(X, np.concatenate((rows, rows)))
        self._classes = np.repeat([1, 0], len(rows))
        self._shown = table.by_unit(table.shown)
        self.fitted: Any = None

    def __call__(self, attracted: FloatArray) -> FloatArray:
        """Return gamma of each pair, from the fraction that attracted, (n_pairs,)."""
        weights = np.concatenate((attracted, 1 - attracted))
        weights *= np.tile(self._shown, 2)
        fitted = clone(self._classifier)
        fitted.fit(self._twice, self._classes, **named_weights(fitted, weights))
        self.fitted = fitted
        return np.clip(probabilities(fitted, self._X), NEAREST, 1 - NEAREST)


def named_weights(classifier: Any, weights: FloatArray) -> dict[str, FloatArray]:
    """Return the weights by the name that a classifier's `fit` has for them."""
    if isinstance(classifier, Pipeline) and not get_config()["enable_metadata_routing"]:
        return {f"{classifier.steps[-1][0]}__sample_weight": weights}
    return {"sample_weight": weights}


def probabilities(classifier: Any, X: Any) -> FloatArray:
    """Return the probability of class 1 of each row."""
    return np.asarray(classifier.predict_proba(X), dtype=np.float64)[:, 1]


def read_classifier(classifier: Any) -> Any:
    """Return the classifier, or the default; a TypeError if it cannot be used."""
    if classifier is None:
        return MARTClassifier(early_stopping=False, random_state=0)
    last = classifier.steps[-1][1] if isinstance(classifier, Pipeline) else classifier
    is_class = isinstance(classifier, type)
    if is_class or not (hasattr(last, "fit") and hasattr(last, "predict_proba")):
        raise TypeError(
            "classifier must be a scikit-learn classifier with predict_proba, such as "
            f"LogisticRegression(), got {classifier!r}"
        )
    if not has_fit_parameter(last, "sample_weight"):
        raise TypeError(
            f"classifier must take sample_weight in fit, and {type(last).__name__} "
            "does not"
        )
    return classifier
