"""Any table and settings: the tasks of Spark fit the model of one machine."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")
import pandas as pd  # noqa: E402

from sklearn_ltr.spark import SparkLambdaMARTRanker  # noqa: E402
from sklearn_ltr.spark._ranker import COLUMN_PARAMS  # noqa: E402
from tests.cluster import SEEDS, random_case  # noqa: E402
from tests.spark.test_fit import on_spark  # noqa: E402


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_table(spark, seed):
    case = random_case(seed)
    marked = [part.assign(val=False) for part in case.parts]
    marked += [part.assign(val=True) for part in case.validation]
    df = on_spark(spark, pd.concat(marked)[[*case.names, "val"]], 2 + seed % 9)
    columns = dict(case.columns)
    y, group = columns.pop("y"), columns.pop("groups")
    params = {COLUMN_PARAMS[argument]: name for argument, name in columns.items()}
    params |= {"labelCol": y} if isinstance(y, str) else {"labelCols": y}
    if case.validation:
        params["validationIndicatorCol"] = "val"

    def fit():
        ranker = SparkLambdaMARTRanker(
            featuresCols=case.features,
            groupCol=group,
            numTasks=case.n_workers,
            **params,
            **case.options,
        )
        return ranker.fit(df)

    case.check(fit)
