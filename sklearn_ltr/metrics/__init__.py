"""Metrics of ranked lists: their values, and how a swap of two documents changes them.

Words
-----
A *query* has *documents*; each has a *grade* (>= 0, higher is better) and a *score*
(higher is ranked first).  *Position* counts from 0, *rank* from 1.  *Canonical order*
has the documents of one query side by side, and queries separated by ``offsets``.  The
public functions and metric objects take rows in any order; all arrays inside are in
canonical order.

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
LambdaRank and LambdaMART need ``|change of the metric|`` for every pair of positions
p < q (p is above q) if the two documents swap places.  For all built-in metrics it
takes constant time per pair, because it has one form::

    |Delta_pq| = |gain_p - gain_q| * |discount_above_p - discount_below_q|
                 * multiplier_p * scale_query.

Derivation: a swap changes the terms of p and q, and those of the documents between
them.  The change at p depends on p and on the documents above p, the change at q on q
and on the documents above q: on prefix (or suffix) sums of the list.  The
changes between them add up to the difference of two prefix sums, one down to p and one
down to q.  All changes are proportional to the difference of the gains.  The terms of p
and those of q give the arrays below, each computed in linear time per list.
The *effective discount* of a document depends on whether it is
the upper one of its pair (discount_above) or the lower one (discount_below).  In a
discounted sum of gains, such as NDCG or precision, both are the discount of its
position, and the multiplier is 1.  The head of each metric's file derives its factors.
The discount is 0 from position k on, so the swap delta of two documents below the
cutoff is exactly 0.  ``discount_above_p >= discount_below_q`` wherever gains differ.
"""

# ruff: noqa: F403
from typing import TYPE_CHECKING, Any

from sklearn_ltr._core.other_libraries import metric_here
from sklearn_ltr._core.public_names import find_elsewhere, publish
from sklearn_ltr.metrics import _arguments, _metric
from sklearn_ltr.metrics._average_precision import *
from sklearn_ltr.metrics._bpref import *
from sklearn_ltr.metrics._dcg import *
from sklearn_ltr.metrics._err import *
from sklearn_ltr.metrics._metric import *
from sklearn_ltr.metrics._precision import *
from sklearn_ltr.metrics._ranked_list import *
from sklearn_ltr.metrics._reciprocal_rank import *

__all__ = sorted(
    name
    for name, value in globals().items()
    if getattr(value, "__module__", "").startswith("sklearn_ltr.metrics.")
)
publish(globals())

_class: Any
for _class in (_metric.Metric, *_metric.METRICS.values()):
    # `dataclass` has made the constructors by now
    _class.__init__ = _arguments.explain_options(_class.__init__)

if not TYPE_CHECKING:  # for type checkers, a name that is missing is an error

    def __getattr__(name: str) -> Any:
        """Raise an error, which for names of other libraries says what to import."""
        ours = None if name.startswith("_") else metric_here(name, _metric.METRICS)
        if ours is not None:
            function = f"{ours.partition('@')[0]}_score"
            raise AttributeError(
                f"{__name__} has no {name}: import {function}, with groups="
            )
        return find_elsewhere(__name__, name)
