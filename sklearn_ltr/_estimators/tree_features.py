"""How estimators of trees read X: categories become numbers, and NaN is allowed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags

from sklearn_ltr._estimators.categories import NO_CATEGORIES, FeatureCategories
from sklearn_ltr._estimators.constraints import read_constraints
from sklearn_ltr._estimators.feature_table import check_columns, read_feature_table
from sklearn_ltr._estimators.state import require
from sklearn_ltr._estimators.tree_parameters import TreeParameters
from sklearn_ltr.learners._tables import Table
from sklearn_ltr.learners._trees.binning import BinMapper
from sklearn_ltr.learners._trees.growth_parameters import NO_CONSTRAINTS
from sklearn_ltr.learners._trees.tree_check import check_bins


class TreeFeatures(TreeParameters):
    """An estimator of boosted trees: its features."""

    n_features_in_: int
    _mapper: BinMapper
    # models before 1.0 have none of these
    _categories: FeatureCategories = NO_CATEGORIES
    _monotonic, _interaction_sets = NO_CONSTRAINTS

    def __sklearn_tags__(self) -> Tags:
        """Return the tags: NaN is allowed."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    @property
    def is_categorical_(self) -> NDArray[np.bool_]:
        """Whether each feature is categorical, (n_features,) bool."""
        model = self._fitted()
        return model._categories.mask(model.n_features_in_)

    def _read_features(self, X: Any, *, reset: bool = False, name: str = "X") -> Table:
        """Return X as a checked table; with `reset`, store what its columns are."""
        if reset:
            self._categories = self._learn_categories(X, name)
        table = super()._read_features(
            self._encoded(X, name, reset=reset), reset=reset, name=name
        )
        if reset:
            self._monotonic, self._interaction_sets = read_constraints(
                self.monotonic_cst,
                self.interaction_cst,
                getattr(self, "feature_names_in_", None),
                self._categories.mask(self.n_features_in_),
            )
        return table

    def _learn_categories(self, X: Any, name: str) -> FeatureCategories:
        return FeatureCategories.learn(X, self.categorical_features, name)

    def _read_unchecked(self, X: Any) -> Table:
        """Return X as a table; infinite values are found by :meth:`_add_trees`."""
        X = self._encoded(X, "X", reset=False)
        return read_feature_table(self, X, reset=False, name="X", check_values=False)

    def _encoded(self, X: Any, name: str, *, reset: bool) -> Any:
        """Return X with numbers in its categorical columns, if there are any."""
        if len(self._categories.feature) == 0:
            return X
        if not reset:
            check_columns(self, X, name)
        return self._categories.encode(X, name)

    def _check_state(self) -> None:
        """Raise an error if the fitted attributes do not fit together."""
        super()._check_state()
        check_bins(self._mapper, self.n_features_in_)
        self._categories.check(self.n_features_in_)
        require(
            np.array_equal(self._categories.feature, self._mapper.categories.feature),
            "its categories are not those of its bins",
        )
