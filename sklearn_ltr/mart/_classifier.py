"""MART for two classes (section 6 of the report)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags, compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from sklearn_ltr._estimators.parameters import (
    check_ranges,
    positive,
    with_parameters_of,
)
from sklearn_ltr._estimators.tree_parameters import TreeParameters
from sklearn_ltr.mart._base import BoostedMART, Examples
from sklearn_ltr.mart._objectives import LogisticCost

FloatArray = NDArray[np.float64]


@with_parameters_of(
    TreeParameters,
    "{tree parameters}",
    drawn="rows",
    split_noise="0.0",
)
@dataclass(eq=False, repr=False)
class MARTClassifier(ClassifierMixin, BoostedMART):
    r"""MART for two classes: gradient boosted trees and cross entropy.

    With y = 1 for the second of the sorted classes and y = -1 for the first,

    .. math::

        P_+ = \frac{1}{1 + e^{-2 \sigma F(x)}}, \qquad
        L(y, F) = \log(1 + e^{-2 y \sigma F}).

    Every tree models the pseudo-responses, and its leaves make a Newton step
    (section 6 of the report, equations 13 and 14):

    .. math::

        \bar y_i = \frac{2 y_i \sigma}{1 + e^{2 y_i \sigma F_{m-1}(x_i)}}, \qquad
        \gamma_{jm} = \frac{\sum_{x_i \in R_{jm}} \bar y_i}
        {\sum_{x_i \in R_{jm}} |\bar y_i| (2 \sigma - |\bar y_i|)}, \qquad
        F_m(x) = F_{m-1}(x) + \eta \gamma_{jm}.

    F_0 is half the logarithm of the odds, divided by sigma, as in Friedman's paper.

    The report's trees are those of ``split_gain="least_squares"``.  They model the
    pseudo-responses times the weights of their rows, so that only with second-order
    splits is a row of weight 2 the same as two rows.

    Parameters
    ----------
    sigma : float > 0, default=1.0
        Steepness of the sigmoid.  With ``l2_regularization=0`` it makes no difference
        to probabilities and decisions: F scales with 1 / sigma.
    class_weight : dict, "balanced" or None, default=None
        Weight of each class in the cost.  "balanced" is the balanced loss of section
        6.1: each row counts one over the number of rows of its class (times half the
        number of all, which cancels).  The weights multiply the pseudo-responses and
        the hessians, so that the Newton step is equation 15,

        .. math::

            \gamma^B_{jm} = \frac{\sum_{x_i \in R_{jm}}
            \bar y_i (I_+ / n_+ + I_- / n_-)}{\sum_{x_i \in R_{jm}}
            |\bar y_i| (2 \sigma - |\bar y_i|) (I_+ / n_+ + I_- / n_-)},

        which is not the step of weighted pseudo-responses.
    {tree parameters}

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The classes, sorted; the second is the positive one.
    base_score_ : float
        F_0.
    ensemble_ : TreeEnsemble
        The trees, as arrays.
    n_iter_ : int
        Number of trees kept.
    train_score_, validation_score_ : ndarrays of shape (n_trees + 1,), float64
        Mean log-likelihood before the first tree and after each, those dropped by early
        stopping included; empty where nothing was measured (`train_score_` without
        early stopping and with ``verbose=0``; `validation_score_` without early
        stopping).
    feature_importances_ : ndarray of shape (n_features,), float64
        Share of each column in the gain of all splits; they sum to 1.
    n_features_in_ : int
        Number of columns at `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if they were strings.

    References
    ----------
    C. Burges, "From RankNet to LambdaRank to LambdaMART: An Overview", Microsoft
    Research Technical Report MSR-TR-2010-82, 2010.

    J. Friedman, "Greedy function approximation: a gradient boosting machine", Annals of
    Statistics 29(5), 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_ltr.mart import MARTClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> classifier = MARTClassifier(n_estimators=20, max_leaf_nodes=5).fit(X, y)
    >>> classifier.predict_proba(X[:1]).shape
    (1, 2)
    """

    sigma: float = field(default=1.0, kw_only=True)
    class_weight: dict[Any, float] | Literal["balanced"] | None = field(
        default=None, kw_only=True
    )

    _stratified: ClassVar[bool] = True

    def __sklearn_tags__(self) -> Tags:
        """Return the tags: two classes."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def decision_function(self, X: Any) -> FloatArray:
        """Return F, (n_samples,) float64: above 0 for the second class."""
        return self._scores(X)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probabilities of the classes, (n_samples, 2) float64."""
        return self._probabilities(self._scores(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the more probable class of each row, (n_samples,)."""
        scores = self._scores(X)
        return self.classes_[(scores > 0).astype(np.intp)]

    def staged_predict_proba(self, X: Any) -> Iterator[FloatArray]:
        """Yield the probabilities of the classes after each tree, (n_samples, 2)."""
        for scores in self._staged_scores(X):
            yield self._probabilities(scores)

    def _probabilities(self, scores: FloatArray) -> FloatArray:
        doubled = 2.0 * self.sigma * scores
        return np.column_stack([expit(-doubled), expit(doubled)])

    def _targets(self, y: Any, name: str, *, reset: bool) -> FloatArray:
        """Return -1 for the first class and 1 for the second."""
        check_classification_targets(y)
        classes = np.unique(y)
        if len(classes) > 2:
            kind = type_of_target(y, input_name=name)
            raise ValueError(
                "Only binary classification is supported. The type of the target is "
                f"{kind}: {name} has {len(classes)} classes"
            )
        if reset:
            if len(classes) < 2:
                raise ValueError(
                    f"{name} has only one class, {classes.tolist()}: there is nothing "
                    "to tell apart"
                )
            self.classes_ = classes
        if not np.isin(classes, self.classes_).all():
            raise ValueError(
                f"{name} has the classes {classes.tolist()}, but y has "
                f"{self.classes_.tolist()}"
            )
        return np.where(y == self.classes_[1], 1.0, -1.0)

    def _weights(self, y: Any, sample_weight: FloatArray) -> FloatArray:
        weights: FloatArray = compute_sample_weight(self.class_weight, y)
        if not (weights > 0).all():
            raise ValueError(
                f"class_weight must be above 0 for both classes: {self.class_weight!r}"
            )
        return sample_weight * weights

    def _cost(self, examples: Examples) -> LogisticCost:
        return LogisticCost(examples.y, examples.weights, float(self.sigma))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_ranges(self, [positive("sigma")])
