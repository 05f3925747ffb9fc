"""Regression trees: binning, growth by histograms, prediction.

One tree is grown as follows; the modules are listed in the order of reading.

1. :mod:`binning`: before the first tree, quantile bins turn X into bytes, stored in
   blocks of 16 features.
2. :mod:`quantization`: gradient, hessian and a count of each row are packed into one
   integer, so that one addition adds all three, exactly.
3. :mod:`splitting`: the gain of a split, and the best split of each feature given the
   histogram of a leaf.
4. :mod:`leaf_values`: the Newton step of a finished leaf.
5. :mod:`growing`: best-first growth, which calls the others.  Its loops over rows and
   features are in :mod:`histogram`, :mod:`split_search` and :mod:`partition`, its
   parameters, results and memory in :mod:`workspace`.
6. :mod:`ensemble`: grown trees, whose thresholds are bins, are joined into a
   :class:`TreeEnsemble` with thresholds in units of X.  Predictions for X are made by
   :mod:`bit_sliced`; those for binned data, while an ensemble grows, by ``add_binned``.
"""
