"""What the estimators of this package share, whether they rank or not.

``base``           what every estimator shows to scikit-learn
``parameters``     ranges of parameters;  ``tree_parameters``: those of boosted trees
``feature_table``  raw X to a table of floats, or an error that names what is wrong
``boosted_trees``  fit and predict of boosted trees, for rankers and MART alike
``row_order``      the order of training rows, by their content
``monitor``        measures the model after each step of a fit and stops it early
``callbacks``      reports the steps of a fit to scikit-learn's callbacks
``state``          restores an estimator after a failed fit; versions of saved models
"""
