"""What every fit needs: from raw rows to a ranker.

In the order of a fit:

``data``        raw arguments become training data, in one order of rows
``lambdas``     pairs of documents, and the metric, become gradient and hessian
``ranking``     what a ranker learns from, and what it is measured by
``trees``       a tree, from bins, gradient and hessian
``boosting``    the loop: one tree after another
``networks``    networks, and the loop that trains them
``rankers``     the three estimators
``cluster``     the same fit by workers, each with its rows
``estimators``  what all estimators of the package share
``compile``     the compiler of kernels, and the threads that run them

``metrics`` and ``scorers``, which users import, are the rest of the core.  All other
folders of the package are made from it, and it knows none of them.
"""
