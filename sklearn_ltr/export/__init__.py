"""Write models for other programs, and read the models of other libraries.

Each format has a file with its writer, `to_...`, and its reader, `from_...`.
:class:`TreeModel` describes a fitted model of boosted trees as plain data; most writers
and readers use it.  :func:`to_json` and :func:`from_json` save a model as text, which
is validated and never executed.
"""

# ruff: noqa: F403
from sklearn_ltr._core.public_names import publish
from sklearn_ltr.export._catboost import *
from sklearn_ltr.export._estimators import *
from sklearn_ltr.export._json import *
from sklearn_ltr.export._lightgbm import *
from sklearn_ltr.export._onnx import *
from sklearn_ltr.export._ranklib import *
from sklearn_ltr.export._search_engines import *
from sklearn_ltr.export._skl2onnx import *
from sklearn_ltr.export._tree_model import *
from sklearn_ltr.export._treelite import *
from sklearn_ltr.export._vespa import *
from sklearn_ltr.export._xgboost import *

# the list of all writers and readers
__all__ = sorted(
    name
    for name, value in globals().items()
    if getattr(value, "__module__", "").startswith("sklearn_ltr.export.")
)
publish(globals())
