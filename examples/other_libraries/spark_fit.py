"""Two tasks of Spark fit together, and get the model of one machine.

Needs ``python -m pip install pyspark "pandas<3" pyarrow``, Java, and this package
on all workers.
"""

import os
import sys

import numpy as np
import pandas as pd
from pyspark.sql import SparkSession

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.spark import SparkLambdaMARTRanker

made = make_ranking(200, n_documents=20, n_features=20, random_state=0)
table = pd.DataFrame(made.data).add_prefix("x")
features = list(table.columns)
table = table.assign(grade=np.float64(made.target), query=made.groups)

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # of the workers
spark = SparkSession.builder.master("local[2]").getOrCreate()
# or spark.read.parquet("judgements/"): rows of a query may be in several partitions
rows = spark.createDataFrame(table).repartition(4)
ranker = SparkLambdaMARTRanker(
    featuresCols=features,
    labelCol="grade",
    groupCol="query",
    n_estimators=20,
    random_state=0,
)
model = ranker.fit(rows)
scored = model.transform(rows).toPandas()

one_machine = LambdaMARTRanker(n_estimators=20, random_state=0)
one_machine.fit(table[features], table["grade"], groups=table["query"])
expected = one_machine.predict(scored[features])
assert scored["prediction"].tolist() == expected.tolist()
print(f"{len(table)} rows, {len(model.to_local().ensemble_)} trees: the same scores")
spark.stop()
