"""The data of a ranker's fit: what is read, held out and learned from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._core.comm import ONE_PROCESS, Comm
from sklearn_ltr._core.data import FitArguments, GivenColumns, TrainingData
from sklearn_ltr._core.data.cross_validation import KnownQueries
from sklearn_ltr._core.data.feature_reader import FeatureReader
from sklearn_ltr._core.data.features import check_has_rows
from sklearn_ltr._core.data.groups import first_copies
from sklearn_ltr._core.data.labels import LabelGrades, label_number
from sklearn_ltr._core.data.query_index import QueryIndex
from sklearn_ltr._core.data.query_values import draw_held_out
from sklearn_ltr._core.data.rows import routing_advice
from sklearn_ltr._core.data.tables import table_of
from sklearn_ltr._core.data.training_data import check_weights, without_zero_weights
from sklearn_ltr._core.ranking.parameters import (
    RankerParameters,
    check_metrics_of_labels,
)
from sklearn_ltr._core.ranking.reading import (
    LabelChoice,
    check_weighted_pairs,
    read_documents,
    read_ungraded,
)


@dataclass(frozen=True, kw_only=True)
class RankerFitParameters(RankerParameters):
    """The parameters of a ranker, by which the data of its fit are prepared.

    The methods are in the order in which `prepare` calls them.
    """

    def read_rows(
        self,
        given: FitArguments,
        reader: FeatureReader,
        found: dict[str, Any],
        comm: Comm,
    ) -> tuple[TrainingData, list[TrainingData]]:
        """Return training data, sorted by query, and the validation sets."""
        is_judged = given.pairs.are_given()
        if is_judged:
            given.pairs.check(given.y, self.metric)
            self.check_no_clicks(given.columns, given.pairs.in_words)
        self.check_clicks(given.columns)
        labels = LabelChoice(True, self.label_weights, is_shared=comm.n_workers > 1)
        if is_judged and given.y is None:
            if self.holds_out and not given.validation:
                raise ValueError(
                    f"early_stopping=True with {given.pairs.in_words} needs graded "
                    "documents to measure: give X_val, y_val and groups_val"
                )
            X = reader.table(given.X, "X")
            check_has_rows(X, "X")
            queries, train = read_ungraded(given, X.shape[0])
            pairs = given.pairs.read(queries, by_query=given.groups is not None)
            train = replace(train, X=X, pairs=replace(pairs, stand_for_grades=True))
            train = without_zero_weights(train, "sample_weight")
            if not train.has_pairs.any():
                raise ValueError(
                    "sample_weight is zero for every query that has pairs: there is "
                    "nothing to learn"
                )
            # y is the share of its pairs that a row wins: categories are sorted by it
            train = train.compared()
            shares = train.judged_pairs.shares_won(train.n_rows)
            train = replace(train, grades=LabelGrades.of_one(shares))
        else:
            pairs_of_grades = given.pairs if is_judged else None
            train = read_documents(given, reader, labels, pairs_of_grades)
            found["_trained_queries"] = KnownQueries.of(train)
        if comm.n_workers > 1 and train.n_labels > 1:
            every = np.ones(train.n_rows, dtype=np.bool_)
            largest = np.max(comm.gather(train.grades.largest(every)), axis=0)
            train = replace(train, grades=train.grades.in_units(np.asarray(largest)))
        sets = []
        for one in given.validation:
            if one is None:
                no_rows = train.subset(np.zeros(train.n_queries, dtype=np.bool_))
                no_X = table_of(np.empty((0, reader.n_features)))
                sets.append(replace(no_rows, X=no_X))
            else:
                sets.append(read_documents(one, reader, labels))
        self.check_labels(train.grades.names, sets)
        if comm is not ONE_PROCESS:  # rows of partitions, in fewer bytes
            train, *sets = (
                replace(one, rows=one.rows.astype(np.int32)) for one in (train, *sets)
            )
        return train, sets

    def check_clicks(self, columns: GivenColumns) -> None:
        """Raise a ValueError unless `fit` was given the columns that are needed."""
        if self.position_bias is not None and columns.positions is None:
            raise ValueError(
                f"positions is None, but position_bias={self.position_bias.method!r} "
                "learns a bias of each position: give the position of each row, from 0"
                + routing_advice("positions")
            )
        if columns.document_weight is not None and callable(self.objective):
            raise ValueError(
                "document_weight weighs pairs, but objective is a function, which does "
                "not get pairs: leave document_weight out, or apply it in the function"
            )
        if columns.propensities is None:
            return
        if self.position_bias is not None:
            raise ValueError(
                "propensities were given, but position_bias="
                f"{self.position_bias.method!r} learns the bias of positions itself: "
                "give propensities with position_bias=None"
            )
        if callable(self.objective):
            raise ValueError(
                "propensities weigh pairs, but objective is a function, which does not "
                "get pairs: leave propensities out, or apply them in the function"
            )

    def check_no_clicks(self, columns: GivenColumns, judged: str) -> None:
        """Raise a ValueError if judged pairs come with what applies to grades only."""
        if callable(self.objective):
            raise ValueError(
                f"objective is a function, which does not get {judged}: give "
                f"objective='lambdarank', or leave {judged} out"
            )
        if columns.document_weight is not None:
            raise ValueError(
                f"document_weight says how certain grades are, but {judged} are judged "
                "without grades: give one of the two"
            )
        if self.position_bias is None and columns.propensities is None:
            return
        what = "propensities" if self.position_bias is None else "position_bias"
        raise ValueError(
            f"{what} corrects clicks, but {judged} are judgements, not clicks: give "
            "one of the two"
        )

    def check_labels(self, names: tuple[str, ...], sets: list[TrainingData]) -> None:
        """Raise a ValueError unless parameters and validation sets fit these labels."""
        for held in sets:
            if (own := held.grades.names) != names:
                labels, others = (
                    "of one column" if len(given) == 1 else str(list(given))
                    for given in (names, own)
                )
                raise ValueError(
                    f"y has the labels {labels}, but y_val {others}: give the same "
                    "columns"
                )
        if len(names) == 1:
            for name, value in {"metric": self.metric, "scoring": self.scoring}.items():
                is_of_labels = isinstance(value, Mapping) or name == "metric"
                if is_of_labels and isinstance(value, list | tuple | Mapping):
                    raise ValueError(
                        f"{name}={value!r} is for several labels, but y has one "
                        "column: give all of them, or one metric"
                    )
            if self.label_weights is not None:
                raise ValueError(
                    f"label_weights={self.label_weights!r} is for several labels, but "
                    "y has one column: give all of them, or label_weights=None"
                )
            return
        check_metrics_of_labels(self.metric, len(names))
        if callable(self.objective):
            raise ValueError(
                "objective is a function of the grades of one label, but y has "
                f"{len(names)} columns: give one of them, or objective='lambdarank'"
            )
        if self.position_bias is not None:
            raise ValueError(
                f"position_bias={self.position_bias.method!r} learns from the clicks "
                f"of one label, but y has {len(names)} columns: give the clicks alone, "
                "or position_bias=None, with propensities if you know them"
            )
        if isinstance(self.scoring, Mapping):
            for label in self.scoring:
                label_number(label, names, "scoring: label")
        if self.tied_pairs:
            raise ValueError(
                "tied_pairs=True makes pairs of documents of equal grade of one label, "
                f"but y has {len(names)} columns: give one of them, or tied_pairs=False"
            )

    def hold_out(
        self, train: TrainingData, found: Mapping[str, Any], seed: int, comm: Comm
    ) -> tuple[TrainingData, TrainingData]:
        """Divide the queries: a fraction of those of all workers is held out."""
        assert train.query_ids is not None
        index, columns = QueryIndex.locate(train, comm), train.columns
        copied, what = first_copies(train.query_ids), "queries"
        unit = copied if comm.n_workers == 1 else np.arange(index.n_queries)
        if columns.users is not None:  # a cluster takes no users, and no order
            unit, what = columns.users, "users"
        fraction = self.validation_fraction
        held_out = draw_held_out(unit, fraction, seed, columns.order, what)
        n_held_out, held_out = np.count_nonzero(held_out), held_out[index.position]
        # of several copies of a query one is measured
        is_first = copied == np.arange(train.n_queries)
        rest, held = train.subset(~held_out), train.subset(held_out & is_first)
        had_pairs, has_pairs = (
            any(comm.gather(bool(self.has_pairs(part).any()))) for part in (train, rest)
        )
        if had_pairs and not has_pairs and not rest.pairs.are_judged:
            raise ValueError(
                f"early_stopping holds out {n_held_out} of {index.n_queries} queries, "
                "and of those left to learn from, y has no query with two different "
                "grades: give X_val, y_val and groups_val, or more queries"
            )
        return rest, held

    def choose_learned(
        self, train: TrainingData, comm: Comm, *, may_be_none: bool
    ) -> TrainingData:
        """Return the queries that have pairs to learn from."""
        has_pairs, bounds = self.has_pairs(train), self.weight_bounds
        learned = train.subset(has_pairs)
        if may_be_none and not has_pairs.any():
            return learned
        if self.has_tied_pairs(train):
            if not has_pairs.any():
                raise ValueError(
                    "no query of a weight above zero has two documents, so there are "
                    "no pairs to learn from: check groups, sample_weight and "
                    "document_weight"
                )
        elif not train.has_pairs.any():
            sizes = f"n_queries={train.n_queries}, n_samples={train.n_rows}"
            none_left = train.pairs.NONE_LEFT
            raise ValueError(none_left.format(those=train.in_words, sizes=sizes))
        else:
            check_weighted_pairs(train, comm)
        check_weights(learned.sample_weight, "sample_weight", bounds)
        weights = learned.columns.document_weight
        if weights is not None:  # whose products are those of pairs
            low, high = bounds
            check_weights(weights, "document_weight", (low**0.5, high**0.5))
        if learned.pairs.are_judged:
            pairs, product = learned.judged_pairs, "sample_weight times pair_weights"
            check_weights(pairs.weights, "pair_weights", bounds)
            of_queries = np.repeat(learned.sample_weight, np.diff(pairs.offsets))
            check_weights(of_queries * pairs.weights, product, bounds)
        return learned

    def has_pairs(self, data: TrainingData) -> NDArray[np.bool_]:
        """Return whether a query has pairs to learn from, (n_queries,)."""
        return data.has_pairs

    def has_tied_pairs(self, data: TrainingData) -> bool:
        """Return whether documents of equal grade are pairs, too."""
        return self.tied_pairs and not data.pairs.stand_for_grades
