"""Models of boosted trees leave and come back.

:class:`TreeModel` describes a fitted model as plain data.  :func:`to_json` and
:func:`from_json` keep it as text, which is validated and never executed; the other
functions write and read the formats of other libraries.
"""

from sklearn_ltr._saved import publish
from sklearn_ltr.export._catboost_reader import from_catboost
from sklearn_ltr.export._elasticsearch_writer import (
    to_elasticsearch_ltr,
    to_elasticsearch_ml,
)
from sklearn_ltr.export._estimators import from_tree_model, to_tree_model
from sklearn_ltr.export._json import from_json, json_schema, to_json
from sklearn_ltr.export._lightgbm_reader import from_lightgbm
from sklearn_ltr.export._lightgbm_writer import to_lightgbm
from sklearn_ltr.export._onnx_writer import to_onnx
from sklearn_ltr.export._ranklib_writer import to_ranklib
from sklearn_ltr.export._request import Request
from sklearn_ltr.export._solr_writer import to_solr
from sklearn_ltr.export._tree_model import Feature, TrainingState, Tree, TreeModel
from sklearn_ltr.export._treelite_writer import to_treelite
from sklearn_ltr.export._vespa_writer import to_vespa
from sklearn_ltr.export._xgboost_reader import from_xgboost
from sklearn_ltr.export._xgboost_writer import to_xgboost, to_xgboost_dump

__all__ = [
    "Feature",
    "Request",
    "TrainingState",
    "Tree",
    "TreeModel",
    "from_catboost",
    "from_json",
    "from_lightgbm",
    "from_tree_model",
    "from_xgboost",
    "json_schema",
    "to_elasticsearch_ltr",
    "to_elasticsearch_ml",
    "to_json",
    "to_lightgbm",
    "to_onnx",
    "to_ranklib",
    "to_solr",
    "to_tree_model",
    "to_treelite",
    "to_vespa",
    "to_xgboost",
    "to_xgboost_dump",
]
publish(globals())
