"""Metrics of ranked lists: their values, and how a swap of two documents changes them.

Words
-----
A *query* has *documents*; each has a *grade* (>= 0, higher is better) and a *score*
(higher is ranked first).  *Position* counts from 0, *rank* from 1.  *Canonical order*
is the order of :class:`~sklearn_ltr._data.QueryGroups`: documents of one query side
by side, queries separated by ``offsets``.  The public functions and metric objects take
rows in any order; all arrays inside are in canonical order.

Rules of a ranked list
----------------------
- Order: by decreasing score; among equal scores the lower grade first, so that ties do
  not help the model.  ``ties="average"`` gives the expected value over random orders of
  equal scores, ``ties="stable"`` keeps the order of rows.  Scores are compared as
  given: large integers that would be equal in float64 are not.
- Cutoff ``k``: documents below rank k do not count; a k longer than the list means the
  whole list.  Precision divides by k even then, as trec_eval does, and NDCG has the
  option ``short_lists``.
- A query with no relevant document counts 0; ``no_relevant`` may be "one", "skip" or
  "error" instead.
- The mean is over queries, each with weight 1 or its own.

The swap delta
--------------
LambdaRank and LambdaMART need |change of the metric| for every pair of positions p < q
(p is above q) if the two documents swap places.  For all built-in metrics it takes
constant time per pair, because it has one form:

    |Delta_pq| = |gain_p - gain_q| * |discount_above_p - discount_below_q|
                 * multiplier_p * scale_query.

Derivation: a swap changes the terms of p and q, and those of the documents between
them.  The change at p depends on p and on the documents above p, the change at q on q
and on the documents above q, that is on prefix (or suffix) sums of the list.  The
changes between them add up to the difference of two prefix sums, one down to p and one
down to q.  All changes are proportional to the difference of the gains.  Collecting
what depends on p and what depends on q gives the arrays below, each computed in linear
time per list.  The *effective discount* of a document depends on whether it is the
upper one of its pair (discount_above) or the lower one (discount_below):

=============  =============  ==========  ====================  ========================
metric         gain           multiplier  discount_above_p      discount_below_q
=============  =============  ==========  ====================  ========================
CG, DCG, NDCG  gain           1           d_p                   d_q
precision,     relevance      1           d_p                   d_q
recall, RBP
R-precision    relevance      1           [p < R]               [q < R]
bpref          relevance      1           d_p f(n_p) - U_p      d_q f(n_q+1) - U_{q-1}
                                          or d_p f(n_p) - V_p   or d_q f(n_q) - V_{q-1}
MAP            relevance      1           (n_p + 1 - r_p) d_p   n_q d_q - S_{q-1}
                                          - S_p
MRR, hit rate  relevance      1           d at the first        d at the first
                                          relevant document     relevant document
ERR            probability R  1 / T_p     pi_p (d_p - B_{p+1})  pi_{q-1} (d_q - B_q)
=============  =============  ==========  ====================  ========================

The symbols are defined, and each row is derived, at the head of the metric's file.  d
is the discount, 0 from position k on, so the swap delta of two documents below the
cutoff is exactly 0.  ``discount_above_p >= discount_below_q`` wherever gains differ.
"""

from sklearn_ltr._saved import publish
from sklearn_ltr.metrics._average_precision import MAP
from sklearn_ltr.metrics._binary_scores import map_score, precision_score, recall_score
from sklearn_ltr.metrics._bpref import BPref
from sklearn_ltr.metrics._dcg import CG, DCG, NDCG
from sklearn_ltr.metrics._err import ERR
from sklearn_ltr.metrics._graded_scores import (
    cg_score,
    dcg_score,
    err_score,
    ndcg_score,
)
from sklearn_ltr.metrics._metric import Metric
from sklearn_ltr.metrics._names import get_metric
from sklearn_ltr.metrics._precision import Precision, Recall
from sklearn_ltr.metrics._r_precision import RPrecision
from sklearn_ltr.metrics._ranks import rank_scores
from sklearn_ltr.metrics._rbp import RBP
from sklearn_ltr.metrics._reciprocal_rank import MRR, HitRate
from sklearn_ltr.metrics._reciprocal_rank_scores import hit_rate_score, mrr_score
from sklearn_ltr.metrics._trec_scores import (
    bpref_score,
    r_precision_score,
    rbp_score,
)

__all__ = [
    "CG",
    "DCG",
    "ERR",
    "MAP",
    "MRR",
    "NDCG",
    "RBP",
    "BPref",
    "HitRate",
    "Metric",
    "Precision",
    "RPrecision",
    "Recall",
    "bpref_score",
    "cg_score",
    "dcg_score",
    "err_score",
    "get_metric",
    "hit_rate_score",
    "map_score",
    "mrr_score",
    "ndcg_score",
    "precision_score",
    "r_precision_score",
    "rank_scores",
    "rbp_score",
    "recall_score",
]
publish(globals())
