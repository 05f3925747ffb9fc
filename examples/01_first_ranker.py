"""Search Python's own documentation, better than BM25 does
========================================================

Run it by ``python examples/01_first_ranker.py``.

The documents are the functions, methods and classes of the standard library. A query
is the first sentence of one docstring, removed from what is searched. BM25 finds 50
candidates; LambdaMART is trained on 70% of the queries to order them, and both are
evaluated on the other 30%. For NDCG the document the query was made of (its source) has
the highest gain, then its class, then its module. For MAP all of these are relevant,
for MRR only the source is.

Nothing is downloaded: the data are made on this machine in some seconds. With Python
3.11.7 the output ends like this (another Python has other documentation)::

    600 unseen queries    NDCG@10      MAP      MRR
    BM25                    0.556    0.533    0.494
    LambdaMART              0.716    0.731    0.604

    Query: 'Upgrade a transport to TLS.'

      BM25, top five (grade, document)
        0  asyncio.base_events.BaseEventLoop.start_tls
        3  asyncio.events.AbstractEventLoop.start_tls
        0  venv.create
        0  ssl.SSLContext._msg_callback
        0  ftplib.FTP_TLS.auth

      LambdaMART, top five (grade, document)
        3  asyncio.events.AbstractEventLoop.start_tls
        0  asyncio.base_events.BaseEventLoop.start_tls
        0  asyncio.transports.Transport
        0  ftplib.FTP_TLS.auth
        0  asyncio.transports.DatagramTransport
"""

from __future__ import annotations

import numpy as np
from python_docs import SOURCE_GRADE, load_python_docs
from sklearn.model_selection import GroupShuffleSplit

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.metrics import map_score, mrr_score, ndcg_score


def main() -> None:
    docs = load_python_docs()
    X, y, groups = docs.data, docs.target, docs.groups
    print(docs.DESCR, end="\n\n")

    split = GroupShuffleSplit(n_splits=1, test_size=0.3, random_state=0)
    train, test = next(split.split(X, y, groups))
    ranker = LambdaMARTRanker(metric="ndcg@10", n_estimators=100, random_state=0)
    ranker.fit(X[train], y[train], groups=groups[train])
    scores = {
        "BM25": X[test, docs.feature_names.index("bm25_all")],
        "LambdaMART": ranker.predict(X[test]),
    }

    y_test, groups_test = y[test], groups[test]
    unseen = np.unique(groups_test)
    print(f"{len(unseen)} unseen queries    NDCG@10      MAP      MRR")
    for name, s in scores.items():
        ndcg = ndcg_score(y_test, s, groups=groups_test, k=10)
        mean_ap = map_score(y_test, s, groups=groups_test)
        mrr = mrr_score(y_test, s, groups=groups_test, relevant_from=SOURCE_GRADE)
        print(f"{name:<20}{ndcg:9.3f}{mean_ap:9.3f}{mrr:9.3f}")

    shown = unseen[3]  # any of them would do
    print(f"\nQuery: {docs.queries[shown]!r}")
    rows = np.flatnonzero(groups_test == shown)
    for name, s in scores.items():
        print(f"\n  {name}, top five (grade, document)")
        for row in rows[np.argsort(-s[rows], kind="stable")][:5]:
            print(f"    {y_test[row]}  {docs.documents[test][row]}")


if __name__ == "__main__":
    main()
