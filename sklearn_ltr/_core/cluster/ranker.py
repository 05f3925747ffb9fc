"""What the rankers of clusters have in common that are scikit-learn's estimators."""

from __future__ import annotations

from typing import ClassVar, Self

from sklearn.utils.metadata_routing import UNUSED

from sklearn_ltr._core.cluster.engine import local_ranker
from sklearn_ltr._core.cluster.fit import Traffic
from sklearn_ltr._core.data import HELD_OUT_BY
from sklearn_ltr._core.estimators.attributes import Attribute, Attributes
from sklearn_ltr._core.rankers.lambdamart import LambdaMARTRanker


class ClusterRanker(LambdaMARTRanker):
    """A LambdaMARTRanker whose `fit` is made by the workers of a cluster."""

    # of columns that only say what is held out, which a cluster does at random
    __metadata_request__fit: ClassVar[dict[str, str]] = dict.fromkeys(
        HELD_OUT_BY, UNUSED
    )

    traffic_: Traffic
    _attributes: ClassVar[Attributes] = {
        "traffic_": Attribute(when="it was fitted on a cluster")
    }

    def set_callbacks(self, *callbacks: object) -> Self:
        """Refuse callbacks: they are not called on the workers of a cluster.

        Parameters
        ----------
        *callbacks
            None.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError
            If there are any.
        """
        if callbacks:
            raise ValueError(
                "callbacks are not called on the workers of a cluster: fit a "
                "LambdaMARTRanker to have them called"
            )
        return self

    def to_local(self) -> LambdaMARTRanker:
        """Return the fitted model as a ranker that needs no cluster.

        Returns
        -------
        ranker : LambdaMARTRanker

        Raises
        ------
        NotFittedError
            Before `fit`.
        """
        return local_ranker(self._fitted())
