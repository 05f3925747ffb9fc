"""RankLib's XML, and what Elasticsearch and OpenSearch call `model/ranklib`.

RankLib computes in float32, tests ``x <= threshold`` and counts features from 1.  It
takes missing values, and features that a line does not have, for 0.
"""

from __future__ import annotations

from typing import Any

from sklearn_ltr.export._estimators import to_tree_model
from sklearn_ltr.export._float32 import LARGEST, at_most
from sklearn_ltr.export._fold import fold
from sklearn_ltr.export._tree_model import Tree, TreeModel
from sklearn_ltr.export._xgboost_writer import float32_model, float32_values


def to_ranklib(estimator: Any, *, missing: str = "error") -> str:
    """Return a fitted model as RankLib's XML.

    RankLib reads it by ``-load``, Elasticsearch and OpenSearch Learning to Rank as
    `model/ranklib`, and other tools as a RankLib LambdaMART model.

    Parameters
    ----------
    estimator : LambdaMARTRanker, MARTRegressor or MARTClassifier
        Fitted, without categorical features.
    missing : {"error", "zero"}, default="error"
        RankLib has no missing values: it takes them, and absent features, for 0.  A
        model in which a missing value may go another way than 0 is an error; with
        "zero" it is written none the less, for data that have no missing values, or
        that shall score as if they were 0.

    Returns
    -------
    text : str
        Feature j of RankLib, from 1, is column j - 1 of X.  Rows whose numbers float32
        can hold, and that have no missing values, reach the same leaves; scores are
        sums in float32.  Scores of a classifier are 2 sigma times those of its
        ``decision_function``.

    Raises
    ------
    TypeError, ValueError
        As :func:`to_xgboost_dump`; and for models that send missing values elsewhere
        than 0.

    Examples
    --------
    >>> from sklearn_ltr import LambdaMARTRanker
    >>> from sklearn_ltr.export import to_ranklib
    >>> ranker = LambdaMARTRanker(n_estimators=2, min_samples_leaf=1, random_state=0)
    >>> ranker = ranker.fit([[1.0], [2.0], [3.0]], [0, 1, 2], groups=[7, 7, 7])
    >>> to_ranklib(ranker, missing="zero").splitlines()[0]
    '## LambdaMART'
    """
    if missing not in ("error", "zero"):
        raise ValueError(f"missing must be 'error' or 'zero', got {missing!r}")
    model = float32_model(to_tree_model(estimator))
    check_ranklib(model, missing)
    trees = [
        f'<tree id="{m}" weight="1.0"><split>{tree_xml(tree)}</split></tree>'
        for m, tree in enumerate(model.trees, start=1)
    ]
    header = f"## LambdaMART\n## No. of trees = {len(trees)}\n"
    return "\n".join([f"{header}\n<ensemble>", *trees, "</ensemble>\n"])


def check_ranklib(model: TreeModel, missing: str) -> None:
    """Raise a ValueError for what RankLib cannot evaluate."""
    if model.has_categories:
        raise ValueError(
            "RankLib knows no categories: encode them as numbers, by OrdinalEncoder or "
            "OneHotEncoder, and fit again; or use to_lightgbm, to_onnx or to_treelite"
        )
    if missing == "error" and model.tests_missing:
        raise ValueError(
            "the model may send missing values another way than the number 0, which "
            "RankLib takes them for: give missing='zero' if the data that it scores "
            "have none, or if 0 is what they shall count as; or fit again on data in "
            "which 0 stands for them"
        )


def tree_xml(tree: Tree) -> str:
    """Return a tree; without white space, which the parser takes for nodes."""
    value = float32_values(tree.value)
    threshold = at_most(tree.threshold).clip(-LARGEST, LARGEST)

    def leaf(node: int) -> str:
        return f"<output>{value[node]!r}</output>"

    def split(node: int, left: str, right: str) -> str:
        return (
            f"<feature>{int(tree.feature[node]) + 1}</feature>"
            f"<threshold>{float(threshold[node])!r}</threshold>"
            f'<split pos="left">{left}</split><split pos="right">{right}</split>'
        )

    return fold(tree, leaf, split)
