"""Regression trees: binning, growth by histograms, prediction.

The modules, in the order of reading (first see the loop over trees, ``boost`` in
:mod:`boosting`, and the docstring of :mod:`growing`, which outlines the growth of one
tree):

1. :mod:`binning`: before the first tree, quantile bins turn X into bytes; categories
   become bins by :mod:`categories`.
2. :mod:`parameters` and :mod:`constraints`: what a tree may be like.
3. :mod:`workspace`: inputs, results and memory of tree growth.
4. :mod:`sampling`: what is drawn at random for a tree, the rows among it, whose bins
   are packed in :mod:`blocks`; and :mod:`quantization`: gradient, hessian and a count
   of each row become one integer, so that one addition adds all three, exactly.
5. :mod:`splitting`: the histograms of a leaf, the gain of a split, and the best split
   of two sibling leaves, found by all threads.
6. :mod:`leaf_values`: the leaf of each row, the Newton step of each leaf, and the order
   that monotonic constraints ask for.
7. :mod:`growing`: best-first growth, alone or with other workers, which calls the
   others, and moves the rows of a leaf into its children.
8. :mod:`boosting`: the loop over trees.
9. :mod:`ensemble`: grown trees, whose thresholds are bins, are joined into a
   :class:`TreeEnsemble` with thresholds in units of X.
10. :mod:`tree_walk`: the first, small predictions of a model, in plain numpy.
11. :mod:`bit_sliced`: all other predictions for X, by compiled kernels; same scores.
12. :mod:`shapley` and its kernels: what each feature adds to the score of a row.
"""
