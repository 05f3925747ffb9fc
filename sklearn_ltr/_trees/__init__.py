"""Regression trees: binning, growth by histograms, prediction.

The modules, in the order of reading (first see the loop over trees, ``boost`` in
:mod:`boosting`, and the docstring of :mod:`growing`, which outlines the growth of one
tree):

1. :mod:`binning`: before the first tree, quantile bins turn X into bytes; categories
   become bins by :mod:`categories`.
2. :mod:`parameters` and :mod:`constraints`: limits on the size and splits of a tree.
3. :mod:`workspace`: inputs, results and memory of tree growth.
4. :mod:`sampling`: features and rows are drawn for a tree; the bins of the rows are
   packed in :mod:`blocks`; and :mod:`quantization`: gradient, hessian and a count of
   each row become one integer, so that one addition adds all three, exactly.
5. :mod:`splitting`: the histograms of a leaf, the gain of a split, and the best split
   of two sibling leaves, found by all threads.
6. :mod:`dividing`: the rows of a leaf are moved to its two children.
7. :mod:`leaf_values`: the leaf of each row, the Newton step of each leaf, and the order
   that monotonic constraints ask for.
8. :mod:`growing`: best-first growth, the loop that calls all of these; with several
   workers, :mod:`growing_together` has the loop.
9. :mod:`boosting`: the loop over trees.
10. :mod:`ensemble`: grown trees, whose thresholds are bins, are joined into a
   :class:`TreeEnsemble` with thresholds in units of X.
11. :mod:`tree_walk`: the first, small predictions of a model, in plain numpy.
12. :mod:`bit_sliced`: all other predictions for X, by compiled kernels; same scores.
13. :mod:`shapley` and its kernels: the contribution of each feature to a score.
"""
