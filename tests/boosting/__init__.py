"""Tests of boosting: the loop over trees, and the trees that it drops."""
