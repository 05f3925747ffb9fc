"""RankLib's XML, and what Elasticsearch and OpenSearch call `model/ranklib`.

RankLib tests ``x <= threshold`` in float32, adds ``output * weight`` of each tree to a
sum in float32, and counts features from 1.  It takes missing values, and features that
a line does not have, for 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree

import numpy as np

from sklearn_ltr._core.parameters import Choice
from sklearn_ltr.export._document import excerpt
from sklearn_ltr.export._estimators import TreesLike, trees_alone
from sklearn_ltr.export._float32 import (
    LARGEST,
    at_most,
    float32_model,
    float32_values,
    rounded_at_most,
)
from sklearn_ltr.export._imported import MOST_WITHOUT_NAMES, imported_ranker
from sklearn_ltr.export._model_files import TextOrFile, no_model, text_of
from sklearn_ltr.export._tree_model import (
    Node,
    Tree,
    check_no_categories,
    errors_in,
    fold,
    made_up_names,
    tests_missing,
    unfold,
)

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from sklearn_ltr import LambdaMARTRanker

__all__ = ["from_ranklib", "to_ranklib"]

FOREST = "RANDOM FORESTS"
OF_TREES = ("MART", "LAMBDAMART", FOREST)


def to_ranklib(estimator: TreesLike, *, missing: str = "error") -> str:
    """Return a fitted model as RankLib's XML.

    RankLib reads it by ``-load``, Elasticsearch and OpenSearch Learning to Rank as
    `model/ranklib`, and other tools as a RankLib LambdaMART model.

    Parameters
    ----------
    estimator : LambdaMARTRanker, MARTRegressor or MARTClassifier
        Fitted, without categorical features.
    missing : {"error", "zero"}, default="error"
        RankLib has no missing values: it takes them, and absent features, for 0.  A
        model in which a missing value may go another way than 0 is an error.  "zero"
        writes it nevertheless, for data without missing values, or to count them as 0.

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
    Choice("error", "zero").read_as("missing", missing)
    model = float32_model(trees_alone(estimator, "branch"))
    check_no_categories(model, "RankLib knows")
    if missing == "error" and any(map(tests_missing, model.trees)):
        raise ValueError(
            "the model may send missing values another way than the number 0, but "
            "RankLib takes them for 0: give missing='zero' if the data to score have "
            "none, or to count them as 0; or fit again on data with 0 in their place"
        )
    trees = [
        f'<tree id="{m}" weight="1.0"><split>{tree_xml(tree)}</split></tree>'
        for m, tree in enumerate(model.trees, start=1)
    ]
    header = f"## LambdaMART\n## No. of trees = {len(trees)}\n"
    return "\n".join([f"{header}\n<ensemble>", *trees, "</ensemble>\n"])


def tree_xml(tree: Tree) -> str:
    """Return a tree without white space, which the parser takes for nodes."""
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


def from_ranklib(
    model: TextOrFile, *, n_features: int | None = None
) -> LambdaMARTRanker:
    """Return a ranker that scores as a model trained by RankLib.

    Parameters
    ----------
    model : str, bytes or path
        What RankLib's ``-save`` has written for MART (``-ranker 0``), LambdaMART (6) or
        random forests (8); or a path that names the file.
    n_features : int, default=None
        Number of columns of X.  None: the largest number of a feature that a tree
        tests, as the file does not say how many there were.

    Returns
    -------
    ranker : LambdaMARTRanker
        Fitted.  Feature 1 of RankLib is the first column of X.  Every row reaches the
        leaves that it reaches in RankLib, which rounds its numbers to float32, and for
        which a missing value is 0.  Leaf values, times the weight of their tree, are
        added in float64; RankLib rounds each sum to float32.  The score of random
        forests is the mean of their bags.  To continue it, give it to another ranker
        as `init`.

    Raises
    ------
    TypeError
        If `model` is not text, file or path, or `n_features` is not an integer.
    ValueError
        That names the place, if the text is damaged, or is of another kind, such as
        RankLib's networks and linear models; or if a tree tests a feature beyond
        `n_features`.

    Examples
    --------
    >>> from sklearn_ltr.export import from_ranklib
    >>> tree = (
    ...     "<split><feature> 2 </feature><threshold> 0.5 </threshold>"
    ...     "<split pos='left'><output> -1.0 </output></split>"
    ...     "<split pos='right'><output> 1.0 </output></split></split>"
    ... )
    >>> ensemble = f"<ensemble><tree id='1' weight='0.5'>{tree}</tree></ensemble>"
    >>> ranker = from_ranklib(f"## LambdaMART{chr(10)}{ensemble}")
    >>> ranker.predict([[7.0, 0.5], [7.0, 0.6]])
    array([-0.5,  0.5])
    """
    if n_features is not None and (
        isinstance(n_features, bool) or not isinstance(n_features, int | np.integer)
    ):
        raise TypeError(f"n_features must be an integer or None, got {n_features!r}")
    text = text_of(model, "model must be the text of a model of RankLib, or its file")
    lines = [line.strip() for line in text.split("\n")]
    name = next(filter(None, lines)).removeprefix("##").strip()
    if "<ensemble>" not in text or name.upper() not in OF_TREES:
        if text.lstrip().startswith("##"):
            raise ValueError(
                f"this is RankLib's {excerpt(name)}, and only its models of trees are "
                "read: MART, LambdaMART and Random Forests"
            )
        if text.lstrip().startswith("<ensemble>"):
            raise ValueError(
                "the first line must say which model of RankLib this is, as "
                "'## LambdaMART'"
            )
        message = "this is no model of RankLib: its first line is not '## LambdaMART'"
        raise no_model(text, message)
    # lines of comments become empty, so that an error of the XML names the right line
    plain = "\n".join("" if line.startswith("#") else line for line in lines)
    if "<!" in plain:
        raise ValueError("the XML has a declaration or comment, which RankLib has not")
    try:
        root = ElementTree.fromstring(f"<bags>{plain}</bags>")
    except ElementTree.ParseError as error:
        raise ValueError(f"this is no valid XML, or is cut off: {error}") from None
    bags = list(root)
    if any(bag.tag != "ensemble" for bag in bags):
        raise ValueError("there must be nothing but ensembles")
    if len(bags) > 1 and name.upper() != FOREST:
        raise ValueError(f"a model of {name} has one ensemble, and this {len(bags)}")
    trees = []
    for m, element in enumerate((tree for bag in bags for tree in bag), start=1):
        with errors_in(f"tree {m}"):
            trees.append(read_ranklib_tree(element).scaled(1.0 / len(bags)))
    used = 1 + max((int(tree.feature.max()) for tree in trees), default=0)
    if n_features is None:
        n_features = max(used, 1)
    if not max(used, 1) <= n_features <= MOST_WITHOUT_NAMES:
        raise ValueError(
            f"n_features must be at least the largest number of a feature, {used}, and "
            f"at most {MOST_WITHOUT_NAMES}, got {n_features}"
        )
    return imported_ranker(made_up_names(int(n_features)), trees, {})


def read_ranklib_tree(element: Element) -> Tree:
    """Return a tree whose leaf values are multiplied by its weight."""
    if element.tag != "tree" or [child.tag for child in element] != ["split"]:
        raise ValueError("it must be a <tree> with one <split>")
    weight = float32_of(element.get("weight"), "weight")

    def node_of(node: Element) -> tuple[Node, dict[str, Element]]:
        tags = [child.tag for child in node]
        if tags == ["output"]:
            # both are float32, so that the product is exact
            return Node(value=weight * float32_of(node[0].text, "output")), {}
        sides = [child.get("pos") for child in node[2:]]
        if tags != ["feature", "threshold", "split", "split"] or sides != [
            "left",
            "right",
        ]:
            raise ValueError(
                "a <split> must have an <output>, or <feature>, <threshold> and a left "
                f"and a right <split>, got {tags[:5]}"
            )
        limit = np.array([float32_of(node[1].text, "threshold")], dtype=np.float32)
        threshold = float(rounded_at_most(limit)[0])
        word = (node[0].text or "").strip()
        if not (word.isascii() and word.isdecimal() and len(word) < 10):
            raise ValueError(f"feature must be a number from 1, got {excerpt(word)}")
        feature = int(word)
        if not 1 <= feature <= MOST_WITHOUT_NAMES:
            raise ValueError(
                f"feature must be a number from 1 to {MOST_WITHOUT_NAMES}, got "
                f"{feature}"
            )
        split = Node(feature - 1, threshold, missing_left=threshold >= 0)
        return split, {"left": node[2], "right": node[3]}

    return unfold(element[0], node_of)


def float32_of(text: str | None, where: str) -> float:
    """Return the number in a text, rounded to float32."""
    word = (text or "").strip()
    try:
        if "_" in word or not word.isascii():
            raise ValueError
        with np.errstate(over="ignore", under="ignore"):
            value = float(np.float32(float(word)))
    except ValueError:
        raise ValueError(f"{where} is no number: {excerpt(word)}") from None
    if not np.isfinite(value):
        raise ValueError(f"{where} is {excerpt(word)}, but must be a finite float32")
    return value
