"""Regression trees: binning, growth by histograms, prediction.

The modules, in the order of reading (first see the loop over trees, ``boost`` in
``_boosting.py``, and the docstring of :mod:`growing`, which outlines the growth of one
tree):

1. :mod:`binning`: before the first tree, quantile bins turn X into bytes, stored in
   blocks of 16 features; categories become bins by :mod:`categories`.
2. :mod:`workspace`: parameters, results and memory of tree growth.
3. :mod:`quantization`: gradient, hessian and a count of each row are packed into one
   integer, so that one addition adds all three, exactly.
4. :mod:`histogram`: sums of packed gradients by bin.
5. :mod:`splitting`: the gain of a split, and the best split of each feature given the
   histogram of a leaf; and :mod:`category_splits`, sets of categories.
6. :mod:`split_search`: the best splits of two sibling leaves, found by all threads.
7. :mod:`partition`: the rows of a leaf become those of its children.
8. :mod:`leaf_values`: the Newton step of a finished leaf.
9. ``grow_tree`` in :mod:`growing`: best-first growth, which calls the others.
10. :mod:`ensemble`: grown trees, whose thresholds are bins, are joined into a
    :class:`TreeEnsemble` with thresholds in units of X.  While it grows, the value of
    each new tree is added to the scores of binned data by ``add_binned``.
11. :mod:`tree_walk`: the first, small predictions of a model, in plain numpy.
12. :mod:`bit_sliced`: all other predictions for X, by compiled kernels; same scores.
13. :mod:`tree_check`: whether the arrays of a saved ensemble are trees.
14. :mod:`shapley` and its kernels: what each feature adds to the score of a row.
"""
