"""The columns of LightGBM's text model, and their categories."""

from __future__ import annotations

from typing import NamedTuple

from sklearn_ltr.export._document import checked, items, parse
from sklearn_ltr.export._lightgbm_text import Text, one_integer, to_numbers, value_of
from sklearn_ltr.export._tree_model import Category, Feature


class Columns(NamedTuple):
    """The columns of X."""

    names: list[str]
    codes: dict[int, set[int]]  # known codes of the categorical features
    categories: dict[int, list[Category]]  # what codes stand for, if known

    def category(self, feature: int, code: int) -> Category:
        """Return the category of a code."""
        if feature not in self.categories:
            return code
        if code >= len(self.categories[feature]):
            raise ValueError(
                f"feature {feature} has the code {code}, which is not in "
                "pandas_categorical"
            )
        return self.categories[feature][code]

    def features(self) -> list[Feature]:
        """Return the columns."""
        features = [Feature(name) for name in self.names]
        for j, codes in self.codes.items():
            found = {*self.categories.get(j, ()), *(self.category(j, c) for c in codes)}
            is_text = any(isinstance(category, str) for category in found)
            categories = tuple(sorted(found))
            features[j] = Feature(self.names[j], categories, is_text)
        return features


def read_columns(parts: Text) -> Columns:
    """Return names and categories of the columns."""
    names = value_of(parts.header, "feature_names").split(" ")
    infos = value_of(parts.header, "feature_infos").split(" ")
    if not len(names) == len(infos) == one_integer(parts.header, "max_feature_idx") + 1:
        raise ValueError(
            "feature_names, feature_infos and max_feature_idx are of different numbers "
            "of features"
        )
    codes: dict[int, set[int]] = {}
    given = parts.categorical_feature.split(",") if parts.categorical_feature else []
    for j in to_numbers(given, "categorical_feature", int):
        if not 0 <= j < len(names):
            raise ValueError(f"categorical_feature {j} is none of {len(names)}")
        codes[j] = set()
    for j, info in enumerate(infos):
        if not info.startswith("[") and info != "none":
            listed = to_numbers(info.split(":"), f"feature_infos[{j}]", int)
            codes[j] = {code for code in listed if code >= 0}  # -1: missing
    return Columns(names, codes, read_categories(parts, sorted(codes)))


def read_categories(parts: Text, features: list[int]) -> dict[int, list[Category]]:
    """Return what the codes of categorical features stand for, if that is known."""
    listed = parse(parts.pandas_categorical)
    if listed is None or listed == []:
        return {}
    if len(items(listed, list, "pandas_categorical")) != len(features):
        raise ValueError(
            f"pandas_categorical has the categories of {len(listed)} features, but "
            f"{len(features)} are categorical: whose they are is not known; train with "
            "a DataFrame in which all of these, and no others, have a categorical dtype"
        )
    categories: dict[int, list[Category]] = {}
    for i, (j, of_feature) in enumerate(zip(features, listed, strict=True)):
        where = f"pandas_categorical[{i}]"
        categories[j] = [
            c if type(c) in (str, int) else checked(c, float, f"{where}[{k}]")
            for k, c in enumerate(of_feature)
        ]
        if len(set(categories[j])) < len(categories[j]):
            raise ValueError(f"{where} has a category twice")
        if len({isinstance(category, str) for category in categories[j]}) > 1:
            raise ValueError(f"{where} has categories that are text, and others")
    return categories
