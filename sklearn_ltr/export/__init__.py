"""Write models for other programs, and read the models of other libraries.

A file per format holds its writer, `to_...`, and its reader, `from_...`.
:class:`TreeModel` describes a fitted model of boosted trees as plain data; most formats
are written from it, and read into it.  :func:`to_json` and :func:`from_json` keep a
model as text, which is validated and never executed.
"""

# ruff: noqa: F403
from sklearn_ltr._saved import publish
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

# whatever must cover all writers and readers takes them from here
__all__ = sorted(
    name
    for name, value in globals().items()
    if getattr(value, "__module__", "").startswith("sklearn_ltr.export.")
)
publish(globals())
