"""Measures of ranked lists: what they are worth, and what a swap changes.

Words
-----
A *query* owns *documents*; each has a *grade* (>= 0, higher is better) and a *score*
(higher is ranked first).  *Position* counts from 0, *rank* from 1.  *Canonical order*
is the order of :class:`~sklearn_ltr._queries.QueryGroups`: all arrays behind the public
functions are in it, cut into queries by ``offsets``.

The rules of a ranked list
--------------------------
- Order: score descending; equal scores against the model, the lower grade first.
  ``ties="average"`` takes the expected value over their random orders,
  ``ties="stable"`` the order of rows.
- Cutoff ``k``: documents below rank k count nothing; a longer k is cut to the list.
- A query with nothing relevant counts 0; ``no_relevant`` may say "one", "skip" or
  "error".
- The mean is over queries, each counting once or its weight.

The swap delta
--------------
Training needs |change of the measure| for every pair of positions p < q (p stands
above q).  Each measure here can do it in constant time per pair, because the change has
one form for all of them:

    |Delta| = |worth_p - worth_q| * weight_p * |upper_p - lower_q| * scale_query.

Why: let two documents of different worth swap places.  What p loses depends on p and
on all that stands above it; what q gains on q and on all that stands above it, so on
prefixes (or suffixes) of the list.  What changes for the documents between p and q is a
difference of two prefix sums, of which one belongs to p and one to q.  All of it is
proportional to the difference in worth.  Collecting what belongs to p and what belongs
to q leaves four arrays that take linear time per list:

=========================  =========  ======  ==================  ===================
measure                    worth      weight  upper_p             lower_q
=========================  =========  ======  ==================  ===================
CG, DCG, NDCG, precision,  gain or    1       d_p                 d_q
recall                     relevance
MAP                        relevance  1       (n_p + 1 - r_p)     n_q d_q - S_{q-1}
                                              * d_p - S_p
MRR, hit rate              relevance  1       d of the first      d of the first
ERR                        R          1/T_p   pi_p                pi_{q-1}
                                              * (d_p - B_{p+1})   * (d_q - B_q)
=========================  =========  ======  ==================  ===================

Each is derived at the head of its file; d is the discount, zero from position k on, so
a pair below the cutoff changes nothing, exactly.
"""

from sklearn_ltr.metrics._average_precision import MAP
from sklearn_ltr.metrics._bound import BoundMetric
from sklearn_ltr.metrics._closed_form import ClosedFormMetric
from sklearn_ltr.metrics._dcg import CG, DCG, NDCG
from sklearn_ltr.metrics._err import ERR
from sklearn_ltr.metrics._functions import (
    cg_score,
    dcg_score,
    err_score,
    hit_rate_score,
    map_score,
    mrr_score,
    ndcg_score,
    precision_score,
    recall_score,
)
from sklearn_ltr.metrics._metric import Metric
from sklearn_ltr.metrics._names import get_metric
from sklearn_ltr.metrics._precision import Precision, Recall
from sklearn_ltr.metrics._ranked_list import rank_documents
from sklearn_ltr.metrics._ranks import rank_scores
from sklearn_ltr.metrics._reciprocal_rank import MRR, HitRate

__all__ = [
    "CG",
    "DCG",
    "ERR",
    "MAP",
    "MRR",
    "NDCG",
    "BoundMetric",
    "ClosedFormMetric",
    "HitRate",
    "Metric",
    "Precision",
    "Recall",
    "cg_score",
    "dcg_score",
    "err_score",
    "get_metric",
    "hit_rate_score",
    "map_score",
    "mrr_score",
    "ndcg_score",
    "precision_score",
    "rank_documents",
    "rank_scores",
    "recall_score",
]
