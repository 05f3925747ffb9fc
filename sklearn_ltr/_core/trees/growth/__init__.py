"""Growth of one tree; its steps are in the docstring of :mod:`grower`.

The modules, in the order of reading:

1. :mod:`workspace`: inputs, results and memory of tree growth.
2. :mod:`sampling`: features and rows are drawn for a tree; :mod:`quantization`:
   gradient, hessian and a count of each row become one integer, so that one addition
   adds all three, exactly; :mod:`preparation`: the kernel that does both.  The bins of
   the rows are packed in :mod:`blocks`.
3. :mod:`histograms` of a leaf, and :mod:`splitting`: the gain of a split, and the best
   split that a histogram shows.
4. :mod:`dividing`: the rows of a leaf are moved to its two children.
5. :mod:`loop`: all threads search, select and split, again and again.
6. :mod:`best_first` and :mod:`symmetric`: two policies, by which the loop searches two
   siblings or a level; :mod:`exchange`: what several workers do besides.
7. :mod:`leaf_values`: the leaf of each row, the Newton step of each leaf, and the order
   that monotonic constraints ask for.
8. :mod:`grower`: all of these, for one tree after another.

Where to add:

- Another policy: a file such as :mod:`best_first`, whose ``GrowthPolicy`` stands in
  ``POLICIES``, and its name in ``GrowPolicy`` of ``trees/parameters.py``.
- Histograms made of a leaf's rows in another way, such as of the nonzeros of sparse
  columns: `fill_histogram` in :mod:`histograms`, which all policies call.
- Histograms that come from elsewhere, such as other workers or a GPU: the loop returns
  where `needs_sums` of its steps says so (today only that of several workers does),
  and ``HistogramExchange.add_up`` in :mod:`exchange` completes the histograms before it
  is called again.
"""

from sklearn_ltr._core.trees.growth.best_first import BEST_FIRST
from sklearn_ltr._core.trees.growth.symmetric import SYMMETRIC

#: ways to grow trees, by the value of the parameter `grow_policy`
POLICIES = {policy.name: policy for policy in (BEST_FIRST, SYMMETRIC)}
