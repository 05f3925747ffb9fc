"""Boosted trees for any objective: bins, the loop over trees, what is kept.

``loop``            the loop: one tree after another, measured, stopped early
``bins``            from rows to bins, and the scores that trees are added to
``dart``            trees that are dropped while the next one is grown
``parameters``, ``warm_start``
                    the parameters of a fit, and what it begins with
``base_model``      F_0, from another model or from given scores
``fitted_trees``    scores of fitted trees, and their attributes
``nothing_learned`` a warning
"""
