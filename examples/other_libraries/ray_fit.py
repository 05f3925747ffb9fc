"""Ray's actors fit the model of one machine, and score a Dataset.

Needs ``python -m pip install "ray[data]"``, and this package on all machines.
"""

import numpy as np
import pandas as pd
import ray

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.ray import RayLambdaMARTRanker

made = make_ranking(200, n_documents=20, n_features=12, random_state=0)
frame = pd.DataFrame(made.data).add_prefix("x")
features = list(frame)
frame = frame.assign(grade=made.target, query=made.groups, row=np.arange(len(frame)))

ray.init("local", num_cpus=2, include_dashboard=False)
rows = ray.data.from_pandas(frame).random_shuffle(seed=0).repartition(6).materialize()
ranker = RayLambdaMARTRanker(n_estimators=20, random_state=0)
ranker.fit(rows.drop_columns(["row"]), "grade", groups="query", n_workers=2)
print(ranker.traffic_)

scored = ranker.predict(rows).to_pandas().sort_values("row")
alone = LambdaMARTRanker(n_estimators=20, random_state=0)
alone.fit(frame[features], frame["grade"], groups=frame["query"])
assert scored["score"].tolist() == alone.predict(frame[features]).tolist()
ndcg = ranker.score(rows, "grade", groups="query")
print(f"NDCG@10 of all queries: {ndcg:.3f}")
ray.shutdown()
