"""Explanations of models: SHAP values, trees, lambdas, local optimality.

`plotting` draws these results; `inspection` makes them public, and reports on models.
They are not in `inspection`, since its reports draw with `plotting`.
"""
