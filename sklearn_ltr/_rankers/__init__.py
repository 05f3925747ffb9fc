"""The three rankers, the face that they share, and how they read their arguments.

``lambdamart``, ``lambdarank`` and ``ranknet`` have an estimator each; ``networks`` has
what the latter two share, ``preferences`` the pairs that RankNet may learn from.
``base``, ``reading``, ``base_model`` and ``evaluation`` serve all of them.
"""
