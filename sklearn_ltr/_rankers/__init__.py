"""The three rankers, their base class, and the readers of their arguments.

``lambdamart``, ``lambdarank`` and ``ranknet`` have an estimator each; ``networks`` has
the base class of the latter two, ``preferences`` the pairs that RankNet may learn from.
``base``, ``reading``, ``base_model`` and ``evaluation`` serve all of them.
"""
