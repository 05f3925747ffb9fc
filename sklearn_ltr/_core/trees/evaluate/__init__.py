"""Predictions of grown trees.

1. :mod:`ensemble`: grown trees, whose thresholds are bins, are joined into a
   :class:`TreeEnsemble` with thresholds in units of X.
2. :mod:`tree_walk`: the first, small predictions of a model, in plain numpy.
3. :mod:`compiled_walk`: later predictions of few rows, by a kernel.
4. :mod:`bit_sliced`: all other predictions for X, by kernels; all give the same scores.
"""
