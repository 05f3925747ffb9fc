"""The three rankers: their parameters, and a `fit` that reads from top to bottom.

``lambdamart``, ``lambdarank`` and ``ranknet`` define one estimator each, ``networks``
the base class of the last two, and ``base`` that of all: ranks and scores.
"""
