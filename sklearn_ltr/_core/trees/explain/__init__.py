"""The contribution of each feature to a score: :mod:`shapley` and its kernels."""
