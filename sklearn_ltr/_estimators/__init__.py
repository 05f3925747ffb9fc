"""The common parts of all estimators of this package, rankers or not.

``base``           the interface to scikit-learn, and saving
``attributes``     declarations of fitted attributes
``docstrings``     paragraphs on parameters that several estimators have
``arguments``      errors that name the argument to give instead of an unknown one
``boosted_trees``  fit and predict of boosted trees, for rankers and MART alike
``monitor``        measures the model after each step of a fit, and stops it early
``caller``         the line that warnings point to
``nothing_learned``, ``validation_range``
                   two warnings
"""
