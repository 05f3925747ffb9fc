"""Growth of one tree; its steps are in the docstring of :mod:`grower`.

The modules, in the order of reading:

1. :mod:`workspace`: inputs, results and memory of tree growth.
2. :mod:`sampling`: features and rows are drawn for a tree; the bins of the rows are
   packed in :mod:`blocks`; and :mod:`quantization`: gradient, hessian and a count of
   each row become one integer, so that one addition adds all three, exactly.
3. :mod:`splitting`: the histograms of a leaf, the gain of a split, and the best split
   of two sibling leaves, found by all threads.
4. :mod:`dividing`: the rows of a leaf are moved to its two children.
5. :mod:`leaf_values`: the leaf of each row, the Newton step of each leaf, and the order
   that monotonic constraints ask for.
6. :mod:`grower`: best-first growth, the loop that calls all of these; with several
   workers, :mod:`exchange` has the loop, and :mod:`symmetric` that of symmetric trees.
"""
