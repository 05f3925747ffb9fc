"""RankLib's XML, and what Elasticsearch and OpenSearch call `model/ranklib`.

RankLib computes in float32, tests ``x <= threshold`` and counts features from 1.  It
takes missing values, and features that a line does not have, for 0.
"""

from __future__ import annotations

from sklearn_ltr.export._estimators import BoostedTrees, trees_alone
from sklearn_ltr.export._float32 import LARGEST, at_most, float32_model, float32_values
from sklearn_ltr.export._tree_model import Tree, check_no_categories, fold

__all__ = ["to_ranklib"]


def to_ranklib(estimator: BoostedTrees, *, missing: str = "error") -> str:
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
    model = float32_model(trees_alone(estimator))
    check_no_categories(model, "RankLib knows")
    if missing == "error" and any(map(tests_missing, model.trees)):
        raise ValueError(
            "the model may send missing values another way than the number 0, which "
            "RankLib takes them for: give missing='zero' if the data that it scores "
            "have none, or if 0 is what they shall count as; or fit again on data in "
            "which 0 stands for them"
        )
    trees = [
        f'<tree id="{m}" weight="1.0"><split>{tree_xml(tree)}</split></tree>'
        for m, tree in enumerate(model.trees, start=1)
    ]
    header = f"## LambdaMART\n## No. of trees = {len(trees)}\n"
    return "\n".join([f"{header}\n<ensemble>", *trees, "</ensemble>\n"])


def tests_missing(tree: Tree) -> bool:
    """Return whether a missing value may go elsewhere than the number 0."""
    elsewhere = tree.missing_left != (tree.threshold >= 0)
    return bool(elsewhere[~tree.is_leaf].any())


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
