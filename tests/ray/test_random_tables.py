"""Any table and settings: the actors of Ray fit the model of one machine."""

from __future__ import annotations

import pytest

pytest.importorskip("ray.data")
import ray  # noqa: E402

from sklearn_ltr.ray import RayLambdaMARTRanker  # noqa: E402
from tests.cluster import SEEDS, random_case  # noqa: E402

pytestmark = pytest.mark.usefixtures("cluster")


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_table(seed):
    case = random_case(seed)

    def dataset(parts):
        return ray.data.from_pandas([part[case.names] for part in parts])

    def fit():
        given = dict(case.columns)
        if case.validation:
            given["X_val"] = dataset(case.validation)
        ranker = RayLambdaMARTRanker(**case.options)
        return ranker.fit(dataset(case.parts), n_workers=case.n_workers, **given)

    case.check(fit)
