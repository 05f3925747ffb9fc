"""A network that learns from graded queries, or from preferences between rows."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._compile import ThreadTeam, effective_n_threads, expit_of
from sklearn_ltr._data import Exposure, TrainingData
from sklearn_ltr._data.tables import Table
from sklearn_ltr._estimators.base import FitTasks, with_callbacks
from sklearn_ltr._estimators.base import refit
from sklearn_ltr._data.training_data import check_weights
from sklearn_ltr._rankers._batches import (
    AUTO_PAIRS,
    PreferenceBatches,
    auto_batch_size,
)
from sklearn_ltr._rankers._network_parameters import GRADIENTS
from sklearn_ltr._rankers._network_ranker import NetworkRanker
from sklearn_ltr._rankers._network_training import TrainingPlan
from sklearn_ltr._rankers._preferences import Preferences


class PreferenceData(NamedTuple):
    """A feature table and the preferences between its rows."""

    X: Table
    preferences: Preferences


class PairwiseRanker(NetworkRanker):
    """A network trained by RankNet's force alone, on grades or on preferences."""

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        groups: Any = None,
        sample_weight: Any = None,
        positions: Any = None,
        propensities: Any = None,
        pairs: Any = None,
        pair_probabilities: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        groups_val: Any = None,
        sample_weight_val: Any = None,
    ) -> Self:
        """Learn to rank, from grades or from preferences.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_documents, n_features)
            Finite numbers; float32 is used as it is, and CSR stays sparse.
        y : array-like of shape (n_documents,), default=None
            Relevance grades, finite and >= 0, not necessarily integers.  None: learn
            from `pairs`.
        groups : array-like of shape (n_documents,), default=None
            The query of each document: any sortable values, in any row order.  With
            `y` and without it all rows are taken for one query, with a
            :class:`MissingGroupsWarning`.  With `pairs` it is not needed; if given,
            pairs must lie within queries, and those of a query are learned together.
        sample_weight : array-like of shape (n_documents,), default=None
            Weight of a query, constant within it.  0: as if it were not there.
        positions : array-like of shape (n_documents,), integers >= 0, default=None
            Where each document was shown, 0 is first; different within a query.
            `groups` names each list that was shown (a session) then.  Used, and
            required, where there is a `position_bias`.
        propensities : array-like of shape (n_documents,), in (0, 1], default=None
            Probability that users examined each document: a pair of documents weighs
            1 / propensity of its clicked one.  Not together with a `position_bias`.
        pairs : array-like of shape (n_pairs, 2), integers, default=None
            Preferences in place of grades: rows of X, of which the first beats the
            second.  They may be inconsistent.  `batch_size` counts pairs then, unless
            `groups` is given.
        pair_probabilities : array-like of shape (n_pairs,), default=None
            Probability in [0, 1] that the first of a pair beats the second; None: 1.
        X_val, y_val, groups_val, sample_weight_val : array-likes or tuples, \
default=None
            Graded documents, which are measured after each epoch.  Tuples are several
            sets: ``X_val=(X_1, X_2), y_val=(y_1, y_2), ...``; early stopping follows
            the first.

        Returns
        -------
        self : RankNetRanker

        Raises
        ------
        ValueError, TypeError
            For a parameter out of its range, arguments of different lengths, an empty
            X, features that are not finite numbers, grades that are negative or not
            finite, weights that change within a query, if no query has two different
            grades, for both or neither of `y` and `pairs`, pairs that are not two
            different rows of X, probabilities outside [0, 1], or if the network
            diverges.  The estimator is left as it was.
        """
        exposure = Exposure(positions, propensities)
        given = {
            "groups": groups, "sample_weight": sample_weight, **exposure._asdict(),
        }  # fmt: skip
        with refit(self) as model:
            model._check_parameters()
            tasks = FitTasks(self, model, "epoch", model.max_iter, X, y, **given)
            continues = model._begin(model.warm_start)
            data = model._read_either(
                X,
                y,
                groups,
                sample_weight,
                pairs,
                pair_probabilities,
                exposure,
                reset=not continues,
            )
            validation = model._read_validation_data(
                X_val, y_val, groups_val, sample_weight_val
            )
            if isinstance(data, TrainingData):
                model._fit_queries(data, validation, tasks, continues=continues)
            else:
                validation = model._validation_of_preferences(validation)
                plan = TrainingPlan(model.max_iter, tasks, continues)
                model._train_on_preferences(data, validation, plan)
        tasks.end()
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        *,
        groups: Any = None,
        sample_weight: Any = None,
        positions: Any = None,
        propensities: Any = None,
        pairs: Any = None,
        pair_probabilities: Any = None,
    ) -> Self:
        """Learn from more queries or pairs: one pass, continuing the last fit.

        Parameters
        ----------
        X, y, groups, sample_weight, positions, propensities, pairs, \
pair_probabilities : array-likes
            As in `fit`.  All documents of a query belong in one call: pairs are made
            within it.

        Returns
        -------
        self : RankNetRanker

        Raises
        ------
        ValueError, TypeError
            As by `fit`.  The estimator is left as it was.
        """
        exposure = Exposure(positions, propensities)
        with refit(self) as model:
            model._check_parameters()
            continues = model._begin(keep=True)
            data = model._read_either(
                X,
                y,
                groups,
                sample_weight,
                pairs,
                pair_probabilities,
                exposure,
                reset=not continues,
            )
            if isinstance(data, TrainingData):
                model._partial_fit_queries(data, continues=continues)
            else:
                plan = TrainingPlan(1, None, continues, keeps_optimizer=continues)
                model._train_on_preferences(data, [], plan)
        return self

    def predict_pair_proba(self, X_i: Any, X_j: Any) -> NDArray[np.float64]:
        """Probability that each document of X_i is ranked above that of X_j.

        Parameters
        ----------
        X_i, X_j : array-likes of shape (n_pairs, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_pairs,), float64
            P_ij = 1 / (1 + exp(-sigma (s_i - s_j))), section 2 of the report.

        Raises
        ------
        ValueError
            If X_i and X_j have different numbers of rows.
        """
        model = self._fitted()
        s_i, s_j = model.predict(X_i), model.predict(X_j)
        if len(s_i) != len(s_j):
            raise ValueError(
                f"X_i and X_j must have one row for each pair, got {len(s_i)} and "
                f"{len(s_j)}"
            )
        return expit_of(model._sigma * (s_i - s_j))

    def _read_either(
        self,
        X: Any,
        y: Any,
        groups: Any,
        sample_weight: Any,
        pairs: Any,
        pair_probabilities: Any,
        exposure: Exposure,
        *,
        reset: bool,
    ) -> TrainingData | PreferenceData:
        """Read the training data: graded queries, or preferences."""
        if pairs is None:
            if pair_probabilities is not None:
                raise ValueError("pair_probabilities needs pairs, and pairs is None")
            return self._read_shown_data(
                X, y, groups, sample_weight, exposure, reset=reset
            )
        if y is not None:
            raise ValueError(
                "y and pairs were both given: learn either from grades or from "
                "preferences"
            )
        if self.position_bias is not None or exposure.propensities is not None:
            what = "position_bias" if self.position_bias is not None else "propensities"
            raise ValueError(
                f"{what} corrects clicks, and pairs are preferences in place of "
                "clicks: give y, the clicks, or leave it out"
            )
        table = self._read_features(X, reset=reset)
        preferences = Preferences.read(
            pairs, pair_probabilities, groups, sample_weight, table.shape[0]
        )
        return PreferenceData(table, preferences)

    def _validation_of_preferences(
        self, validation: list[TrainingData]
    ) -> list[TrainingData]:
        """Return the validation data; preferences have no grades to split off."""
        if not validation and self.early_stopping is True:
            raise ValueError(
                "early_stopping=True with pairs needs graded documents to look at: "
                "give X_val, y_val and groups_val"
            )
        return validation

    def _train_on_preferences(
        self,
        data: PreferenceData,
        validation: list[TrainingData],
        plan: TrainingPlan,
    ) -> None:
        """Train on pairs with target probabilities."""
        preferences = data.preferences
        check_weights(preferences.weights, "sample_weight", GRADIENTS)
        n_units = len(preferences.offsets) - 1
        auto = auto_batch_size(n_units) if preferences.by_query else AUTO_PAIRS
        batches = PreferenceBatches(preferences, self.sigma, self._batch_size(auto))
        rows = np.unique(preferences.pairs)
        with ThreadTeam(effective_n_threads(self.n_jobs, data.X.size)) as team:
            measures = {"cost": batches}
            self._train(batches, measures, data.X, rows, validation, plan, team)
