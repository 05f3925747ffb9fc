"""The three rankers, their base class, and the readers of their arguments.

``lambdamart``, ``lambdarank`` and ``ranknet`` define one estimator each.  ``networks``
defines the base class of the last two, and ``preferences`` the pairs that RankNet may
learn from.  All of them use ``base``, ``reading``, ``base_model`` and ``evaluation``.
"""
