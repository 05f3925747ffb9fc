"""Any table and settings: the workers of Dask fit the model of one machine."""

from __future__ import annotations

import pytest

from sklearn_ltr.dask import DaskLambdaMARTRanker
from tests.cluster import N_CASES, random_case, with_categories
from tests.dask.test_cluster import on_workers


@pytest.mark.parametrize("seed", range(N_CASES))
def test_a_random_table(client, seed):
    case = random_case(seed)

    def on_cluster(parts, suffix=""):
        frames = [with_categories(part) for part in parts]
        table = on_workers(client, frames, case.n_workers)
        return case.arguments(table, suffix)

    def fit():
        given = on_cluster(case.parts)
        if case.validation:
            given |= on_cluster(case.validation, "_val")
        return DaskLambdaMARTRanker(**case.options).fit(**given)

    case.check(fit)
