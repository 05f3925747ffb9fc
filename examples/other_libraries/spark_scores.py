"""Spark scores and ranks a table of all queries, by the text of a model.

Needs ``python -m pip install pyspark "pandas<3" pyarrow``, Java, and this package
on all workers.
"""

import os
import sys

import numpy as np
import pandas as pd
from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as F

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.export import from_json, to_json
from sklearn_ltr.metrics import rank_scores

rng = np.random.default_rng(0)
table = pd.DataFrame(rng.random((500, 3)), columns=["bm25", "stars", "price"])
grades = np.digitize(table["bm25"] + table["stars"], [0.8, 1.2, 1.6])
table["stars"] = table["stars"].where(rng.random(500) < 0.8)  # others are missing
queries = np.repeat(np.arange(50), 10)
ranker = LambdaMARTRanker(n_estimators=20, random_state=0)
ranker.fit(table, grades, groups=queries)

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # of the workers
spark = SparkSession.builder.master("local[2]").getOrCreate()
model = spark.sparkContext.broadcast(to_json(ranker))


def score(batches):
    """Add scores to the frames of a partition."""
    loaded = from_json(model.value)
    for batch in batches:
        yield batch.assign(score=loaded.predict(batch[loaded.feature_names_in_]))


rows = table.assign(query=queries, document=np.arange(len(table)))
candidates = spark.createDataFrame(rows).repartition(4)
schema = candidates.withColumn("score", F.lit(0.0)).schema
scored = candidates.mapInPandas(score, schema)
best_first = Window.partitionBy("query").orderBy(F.desc("score"), "document")
ranked = scored.withColumn("rank", F.row_number().over(best_first))

found = ranked.toPandas().sort_values("document")
scores = ranker.predict(table)
assert found["score"].tolist() == scores.tolist()
assert found["rank"].tolist() == rank_scores(scores, groups=queries).tolist()
print(found[found["rank"] == 1].head().to_string(index=False))
spark.stop()
