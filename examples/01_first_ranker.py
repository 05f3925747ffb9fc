"""Search Python's own documentation, better than BM25 does.

    python examples/01_first_ranker.py

The documents are the functions, methods and classes of the standard library; a query
is the first sentence of one docstring, taken out of what is searched.  BM25 finds 50
candidates; LambdaMART learns from seven queries in ten how to order them, and both are
measured on the others.  For NDCG the very item counts most, then its class, then its
module; for MAP all of these are relevant, for MRR only the very item is.

Nothing is downloaded: the data are made here, once, in some seconds.  With Python
3.11.7 it ends about so (another Python has other documentation):

    600 unseen queries    NDCG@10      MAP      MRR
    BM25                    0.544    0.514    0.479
    LambdaMART              0.715    0.709    0.645

    One of them: 'Return a shallow copy of a set.'

      BM25, its first five (grade, document)
        0  xml.etree.ElementTree.Element.copy
        0  filecmp.cmpfiles
        0  decimal.Decimal.next_toward
        4  builtins.set.copy
        1  builtins.bytearray.lower

      LambdaMART, its first five (grade, document)
        4  builtins.set.copy
        3  builtins.bytearray.copy
        1  builtins.bytearray.lower
        0  xml.etree.ElementTree.Element.copy
        1  builtins.bytearray.upper
"""

from __future__ import annotations

import numpy as np
from sklearn.model_selection import GroupShuffleSplit

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.datasets import load_python_docs
from sklearn_ltr.metrics import map_score, mrr_score, ndcg_score

VERY_ITEM = 4


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

    unseen, of_test = np.unique(groups[test]), {"groups": groups[test]}
    print(f"{len(unseen)} unseen queries    NDCG@10      MAP      MRR")
    for name, s in scores.items():
        ndcg = ndcg_score(y[test], s, k=10, **of_test)
        average = map_score(y[test], s, **of_test)
        item = mrr_score(y[test], s, relevant_from=VERY_ITEM, **of_test)
        print(f"{name:<20}{ndcg:9.3f}{average:9.3f}{item:9.3f}")

    shown = next(q for q in unseen if docs.queries[q].startswith("Return a "))
    print(f"\nOne of them: {docs.queries[shown]!r}")
    rows = np.flatnonzero(groups[test] == shown)
    for name, s in scores.items():
        print(f"\n  {name}, its first five (grade, document)")
        for row in rows[np.argsort(-s[rows], kind="stable")][:5]:
            print(f"    {y[test][row]}  {docs.documents[test][row]}")


if __name__ == "__main__":
    main()
