"""From the search engine and back: files in, an upload request out
================================================================

Run it by ``python 14_from_the_engine_and_back.py``.
Needs ``python -m pip install ".[examples]"``.

A search team has judgements, a log of features, and events of its users, each as a
file of the engine.  The program reads them, fits a ranker, compares it with the order
in use, counts what the clicks say, lists the judgements to doubt, and writes the
request that uploads the model.
"""

# sphinx_gallery_thumbnail_path = "_static/thumbnails/14_from_the_engine_and_back.svg"
from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.clicks import (
    InterventionHarvesting,
    counterfactual_score,
    simulate_clicks,
)
from sklearn_ltr.datasets import (
    join_features,
    load_feature_log,
    load_judgments,
    load_ubi,
    make_ranking,
)
from sklearn_ltr.export import to_elasticsearch_ltr
from sklearn_ltr.inspection import suspect_judgments
from sklearn_ltr.model_selection import compare_rankers, group_train_test_split

# %%
# Files of an engine
# ------------------
# This part only makes the files, for a shop of 150 queries.  The first feature, BM25 of
# the title, is the order in use; one hit of ten does not match the second.
folder, rng = Path(tempfile.mkdtemp()), np.random.default_rng(0)
shop = make_ranking(
    150, n_features=5, n_informative=4, n_query_features=0, random_state=0
)
FEATURES = ["title_bm25", "text_bm25", "popularity", "price", "age"]
names = [f"sku-{i}" for i in range(len(shop.target))]
words = [f"query {number}" for number in shop.groups]
ratings, hits = {}, {}
for i, (name, query) in enumerate(zip(names, words, strict=True)):
    values = zip(FEATURES, shop.data[i].tolist(), strict=True)
    logged = [{"name": feature, "value": value} for feature, value in values]
    if i % 10 == 0:
        del logged[1]["value"]
    hit = {"_id": name, "fields": {"_ltrlog": [{"main": logged}]}}
    hits.setdefault(query, []).append(hit)
    rating = {"docId": name, "rating": str(shop.target[i])}
    ratings.setdefault(query, []).append(rating)
judged = [{"query": query, "ratings": rated} for query, rated in ratings.items()]
(folder / "judgments.json").write_text(json.dumps({"judgmentRatings": judged}))
responses = {query: {"hits": {"hits": listed}} for query, listed in hits.items()}
(folder / "features.json").write_text(json.dumps(responses))
# the order in use changes from day to day, by which the log tells how far users look
searches, events = {}, []
for day in range(4):
    order = shop.data[:, 0] + rng.normal(0, 0.5, len(names))
    seen = simulate_clicks(
        shop.target, order, groups=shop.groups, n_sessions=1500, random_state=day
    )
    for session, row, position, click in zip(
        *(seen[column] for column in ("sessions", "documents", "positions", "clicks")),
        strict=True,
    ):
        number = f"day-{day}-{session}"
        search = {"query_id": number, "user_query": words[row]}
        listed = searches.setdefault(number, search | {"query_response_hit_ids": []})
        listed["query_response_hit_ids"].append(names[row])
        if click:
            place = {"ordinal": int(position)}
            attributes = {"object": {"object_id": names[row]}, "position": place}
            event = {"action_name": "click", "query_id": number}
            events.append(event | {"event_attributes": attributes})
lines = "\n".join(json.dumps(one) for one in [*searches.values(), *events])
(folder / "ubi.ndjson").write_text(lines)

# %%
# Judgements and features
# -----------------------
judgments = load_judgments(folder / "judgments.json")
log = load_feature_log(folder / "features.json")
joined = join_features(judgments, log)
table = pd.DataFrame(joined.data, columns=joined.feature_names)
X, X_test, y, y_test, groups, groups_test = group_train_test_split(
    table, joined.target, groups=joined.groups, random_state=0
)
ranker = LambdaMARTRanker(random_state=0).fit(X, y, groups=groups)
print(table.describe().round(2))

# %%
# Is it better than the order in use?
# -----------------------------------
rankers = {"in use": X_test["title_bm25"], "learned": ranker}
print(compare_rankers(rankers, X_test, y_test, groups=groups_test))

# %%
# What do the clicks say?
# -----------------------
# Users click what they see, and they see what is on top.  The harvested propensities
# say how often a position is looked at, and each click counts by their inverse.  Only
# lists of queries that the ranker has not learned from count.
clicks = load_ubi(folder / "ubi.ndjson")
shown = join_features(clicks, log)
propensities = InterventionHarvesting().fit(**clicks).propensities_
held_out = np.isin(shown.groups, groups_test)
estimate = counterfactual_score(
    shown.clicks[held_out],
    ranker.predict(pd.DataFrame(shown.data, columns=table.columns)[held_out]),
    groups=shown.groups[held_out],
    positions=shown.positions[held_out],
    sessions=shown.sessions[held_out],
    propensities=propensities,
    baseline_score=-shown.positions[held_out],
)
print(f"DCG@10 by clicks, minus the order in use: {estimate.value:+.3f} "
      f"({estimate.standard_error:.3f})")  # fmt: skip

# %%
# Which judgements deserve a second look?
# ---------------------------------------
suspects = suspect_judgments(ranker, table, joined.target, groups=joined.groups).head(5)
suspects.insert(1, "document", joined.documents[suspects.index])
print(suspects.round(2).to_string(index=False))

# %%
# Back into the engine
# --------------------
requests = to_elasticsearch_ltr(
    ranker,
    name="shop-1",
    feature_set="shop",
    features={name: {"match_all": {}} for name in FEATURES},  # yours
)
for request in requests:
    print(request.method, request.path, f"{len(json.dumps(request.body)):,} bytes")
