"""Measures during a fit: the same by any number of threads."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_ltr._core.comm import ONE_PROCESS
from sklearn_ltr._core.compile import INTERPRETED, ThreadTeam
from sklearn_ltr._core.data import TrainingData
from sklearn_ltr._core.data.columns import RowColumns
from sklearn_ltr._core.data.groups import QueryGroups
from sklearn_ltr._core.data.labels import LabelGrades
from sklearn_ltr._core.data.query_index import QueryIndex
from sklearn_ltr._core.ranking.measures import MetricMeasure
from sklearn_ltr.metrics import ERR, MAP, NDCG, Metric


class TopGrade(Metric):
    """The grade of the first document."""

    closed_form = False

    def value(self, ranked_grades):
        return float(ranked_grades[0])


def training_data(n_queries: int) -> TrainingData:
    rng = np.random.default_rng(n_queries)
    sizes = rng.integers(1, 40, n_queries)
    queries = QueryGroups.from_groups(
        np.repeat(np.arange(n_queries), sizes), sizes.sum()
    )
    y = rng.integers(0, 3, sizes.sum()) * (rng.random(sizes.sum()) < 0.3)
    offsets = np.append(0, np.cumsum(sizes))
    columns = RowColumns(sample_weight=rng.random(n_queries))
    return TrainingData(
        LabelGrades.of_one(y.astype(float)), offsets, queries.query_ids, columns
    )


def measure_of(data, metric):
    return MetricMeasure(data, metric, QueryIndex.locate(data, ONE_PROCESS), None)


@pytest.mark.parametrize("n_queries", [1, 2, 200])
@pytest.mark.parametrize(
    "metric", [NDCG(10), NDCG(no_relevant="skip"), MAP(), ERR(20), TopGrade()], ids=repr
)
def test_the_mean_is_the_same_by_any_number_of_threads(metric, n_queries):
    data = training_data(n_queries)
    scores = np.random.default_rng(0).integers(0, 9, data.n_rows).astype(float)
    evaluation = measure_of(data, metric)
    evaluation.update(scores)
    expected, of_queries = evaluation.value(), metric.bind(data.y, data.offsets)
    values = of_queries.values(scores)
    counts = ~np.isnan(values)
    if counts.any():
        weights = data.sample_weight[counts]
        assert expected == pytest.approx(np.average(values[counts], weights=weights))
    for n_threads in (1,) if INTERPRETED else (1, 2, 3, 7):
        with ThreadTeam(n_threads) as team:
            evaluation = measure_of(data, metric)
            for other in (-scores, scores):
                evaluation.update(other, team)
                found = evaluation.value()
        assert found == expected or np.isnan([found, expected]).all()


def test_the_query_without_a_relevant_document_is_named_by_whichever_thread():
    data = training_data(200)
    data.y[data.offsets[150] : data.offsets[151]] = 0
    relevant = np.add.reduceat(data.y, data.offsets[:-1]) > 0
    first = int(np.argmin(relevant))
    with ThreadTeam(1 if INTERPRETED else 3) as team:
        evaluation = measure_of(data, NDCG(no_relevant="error"))
        evaluation.update(np.zeros(data.n_rows), team)
        with pytest.raises(ValueError, match=f"query {first} has no relevant"):
            evaluation.value()
