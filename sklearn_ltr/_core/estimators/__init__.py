"""The common parts of all estimators of this package, rankers or not.

``base``           the interface to scikit-learn, and saving
``attributes``     declarations of fitted attributes
``preparation``    the arguments of `fit` become the data of a fit
``docstrings``     paragraphs on parameters that several estimators have
``arguments``      errors that name the argument to give instead of an unknown one
``objective``      what a fit asks of its objective and its measures
``monitor``        measures the model after each step of a fit, and stops it early
``routing``        the metadata that an estimator within another one is fitted with
``nothing_learned``, ``unused_positions``, ``validation_range``
                   three warnings
"""
