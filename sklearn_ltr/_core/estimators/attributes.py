"""Fitted attributes, declared once.

A class declares the attributes that its fit sets, by name.  Refitting, warm starts,
saving, loading and the workers of a cluster read the declarations.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Attribute(NamedTuple):
    """An attribute that a fit sets.

    Attributes
    ----------
    shape : str
        Shape of an array, as in the docstring; empty for other values.
    when : str
        The condition under which a fit sets it; empty: always.
    by_reading : bool
        Whether it is found while the arguments of `fit` are read.  A warm start keeps
        it, as the kept steps were computed with it.
    saved : bool
        Whether a saved model has it.
    """

    shape: str = ""
    when: str = ""
    by_reading: bool = False
    saved: bool = True


Attributes = Mapping[str, Attribute]

#: attributes that scikit-learn's reader of X sets
FEATURES: Attributes = {
    "n_features_in_": Attribute(by_reading=True),
    "feature_names_in_": Attribute(
        "(n_features,)", when="the columns of X have names", by_reading=True
    ),
}
