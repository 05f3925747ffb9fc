"""Regression trees: binning, growth by histograms, prediction, contributions.

In the order of reading (the loop over trees, which calls all of these, is ``boost`` in
:mod:`sklearn_ltr._core.boosting.loop`):

1. :mod:`binning`: before the first tree, quantile bins turn X into bytes; categories
   become bins by :mod:`categories`.
2. :mod:`parameters` and :mod:`constraints`: limits on the size and splits of a tree.
3. :mod:`growth`: one tree, from gradients to the values of its leaves.
4. :mod:`evaluate`: grown trees become an ensemble, which predicts for raw values.
5. :mod:`explain`: the contribution of each feature to a score.
"""
