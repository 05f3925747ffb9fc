"""What the estimators of this package share, whether they rank or not.

``base``             what every estimator shows to scikit-learn
``tree_parameters``  the parameters of boosted trees
``weights``          leaves out rows of weight 0; how large weights may be
``feature_table``    raw X to a table of floats, or an error that names what is wrong
``boosted_trees``    fit and predict of boosted trees, for rankers and MART alike
``row_order``        the order of training rows, by their content
``monitor``          measures the model after each step of a fit and stops it early
``callbacks``        reports the steps of a fit to scikit-learn's callbacks
``state``            a fit sets all attributes at once, or none; checks of saved models
"""
