"""What the estimators of this package share, whether they rank or not.

``base``           what every estimator shows to scikit-learn, and saves
``boosted_trees``  fit and predict of boosted trees, for rankers and MART alike
``monitor``        measures the model after each step of a fit, and stops it early
"""
