"""What all click models share: reading a log, and the state of an estimator."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._estimators.base import BaseModel, refit
from sklearn_ltr.clicks._log import ClickLog, read_click_log

FloatArray = NDArray[np.float64]


class ClickModel(BaseModel):
    """A model of clicks that is fitted to a log."""

    propensities_: FloatArray
    attractiveness_: FloatArray
    groups_: NDArray[Any]
    documents_: NDArray[Any]
    _fitted_state: ClassVar[tuple[str, ...]] = (
        "propensities_",
        "attractiveness_",
        "groups_",
        "documents_",
    )

    def fit(
        self,
        clicks: Any,
        *,
        groups: Any,
        documents: Any,
        positions: Any,
        sessions: Any,
    ) -> Self:
        """Fit the model to a log: one row per shown document, in any order.

        Parameters
        ----------
        clicks : array-like of shape (n_rows,)
            1 if the document was clicked in this session, else 0.
        groups : array-like of shape (n_rows,)
            The query: any sortable values.
        documents : array-like of shape (n_rows,)
            The document: any sortable values.  Documents of different queries are
            different, even if they share a name.
        positions : array-like of shape (n_rows,)
            Position at which the document was shown; integers, 0 is first.
        sessions : array-like of shape (n_rows,)
            The session: one list, shown once for one query.

        Returns
        -------
        self : object

        Raises
        ------
        ValueError, TypeError
            For a parameter out of its range, columns of different lengths, missing
            values, clicks other than 0 and 1, positions that are no integers >= 0 or
            repeated in a session, a document twice in a session, a session of two
            queries, and for a log that the model cannot be estimated from.  The
            estimator is left as it was.
        """
        with refit(self) as model:
            model._check_parameters()
            log = read_click_log(clicks, groups, documents, positions, sessions)
            model._fit_log(log)
            model.groups_, model.documents_ = log.groups, log.documents
        return self

    def _check_parameters(self) -> None:
        """Make parameters plain numbers, or raise an error that names one."""

    @abstractmethod
    def _fit_log(self, log: ClickLog) -> None:
        """Set the fitted attributes."""
