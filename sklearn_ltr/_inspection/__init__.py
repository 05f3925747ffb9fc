"""What models have learned: SHAP values, lambdas, local optimality.

`plotting` draws these results; `inspection` makes them public, and reports on models.
"""
