"""We read what RankLib writes, as a reader of its own rules scores it."""

from __future__ import annotations

import numpy as np
import pytest

from sklearn_ltr.export import from_ranklib, to_ranklib
from tests.export.models import NUMERIC, float32_rows, numbers, served
from tests.export.readers import ranklib

# sums in float32 of some ten leaf values, relative to the largest
ROUNDING = 16 * 2.0**-24
HEADER = "## {}\n## No. of trees = 2\n## Learning rate = 0.1\n\n"
# spaces and tabs as RankLib writes them
TREE = """\t<tree id="{}" weight="{}">
\t\t<split>
\t\t\t<feature>3 </feature>
\t\t\t<threshold> {} </threshold>
\t\t\t<split pos="left">
\t\t\t\t<output>-1.9999977350234985 </output>
\t\t\t</split>
\t\t\t<split pos="right">
\t\t\t\t<feature>1 </feature>
\t\t\t\t<threshold> -0.25 </threshold>
\t\t\t\t<split pos="left">
\t\t\t\t\t<output>0.30000001192092896 </output>
\t\t\t\t</split>
\t\t\t\t<split pos="right">
\t\t\t\t\t<output>1.5 </output>
\t\t\t\t</split>
\t\t\t</split>
\t\t</split>
\t</tree>
"""


def ensemble(*trees: tuple[float, float]) -> str:
    listed = [TREE.format(m, w, t) for m, (w, t) in enumerate(trees, start=1)]
    return "<ensemble>\n" + "".join(listed) + "</ensemble>\n"


TWO = ensemble((0.1, 0.1), (0.3, 3.4028235e38))


def leaf_value(x: np.ndarray, threshold: float) -> np.float64:
    """Return the output for a row, in RankLib's own words."""
    first, third = np.float32(x[0]), np.float32(x[2])
    if third <= np.float32(threshold):
        return np.float64(np.float32(-1.9999977350234985))
    return np.float64(np.float32(0.3) if first <= np.float32(-0.25) else 1.5)


@pytest.mark.parametrize("name", ["MART", "LambdaMART", "Random Forests"])
def test_a_row_gets_the_outputs_times_the_weights_of_the_trees(name):
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, -0.25, -0.2499999, 0.0, 0.1, 0.1 + 1e-9, 0.2], (500, 4))
    X[:, 3] = np.nan
    ranker = from_ranklib(HEADER.format(name) + TWO, n_features=4)
    a, b = np.float64(np.float32(0.1)), np.float64(np.float32(0.3))
    expected = [a * leaf_value(x, 0.1) + b * leaf_value(x, 3.4028235e38) for x in X]
    np.testing.assert_array_equal(ranker.predict(X), expected)
    # float32 sums, as RankLib's
    in_float32 = np.zeros(len(X), np.float32)
    for weight, threshold in ((a, 0.1), (b, 3.4028235e38)):
        in_float32 = (
            in_float32 + weight * np.array([leaf_value(x, threshold) for x in X])
        ).astype(np.float32)
    np.testing.assert_allclose(ranker.predict(X), in_float32, rtol=0, atol=4e-7)


def test_the_bags_of_random_forests_are_averaged():
    one, two = ensemble((1.0, 0.1)), ensemble((1.0, 0.2), (0.5, 0.0))
    forest = from_ranklib(HEADER.format("Random Forests") + one + "\n" + two + "\n")
    parts = [from_ranklib(HEADER.format("MART") + part) for part in (one, two)]
    X = np.random.default_rng(0).normal(size=(200, 3))
    expected = (parts[0].predict(X) + parts[1].predict(X)) / 2
    np.testing.assert_allclose(forest.predict(X), expected, rtol=1e-15, atol=1e-15)
    with pytest.raises(ValueError, match="a model of MART has one ensemble, and th"):
        from_ranklib(HEADER.format("MART") + one + two)


def test_missing_values_are_0():
    ranker = from_ranklib(HEADER.format("MART") + TWO)
    X = numbers()[:, :3]
    X[::3] = np.nan
    np.testing.assert_array_equal(ranker.predict(X), ranker.predict(np.nan_to_num(X)))
    assert to_ranklib(ranker).startswith("## LambdaMART")  # by the default, "error"


@pytest.mark.parametrize("name", NUMERIC)
def test_what_we_write_comes_back(name):
    model = served()[name]
    text = to_ranklib(model, missing="zero")
    again = from_ranklib(text, n_features=model.n_features_in_)
    assert to_ranklib(again) == text
    X = float32_rows(model)
    found, expected = again.predict(X.astype(np.float64)), ranklib.predict(text, X)
    atol = ROUNDING * np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol)
    # a number that is rounded to float32 goes where RankLib sends it
    steps = 1 + 2.0**-26 * np.random.default_rng(0).integers(-9, 9, X.shape)
    rows = np.clip(X.astype(np.float64) * steps, -3e38, 3e38)
    with np.errstate(under="ignore"):
        rounded = rows.astype(np.float32)
    np.testing.assert_array_equal(again.predict(rows), again.predict(rounded))


def test_the_number_of_columns():
    text = HEADER.format("MART") + TWO
    assert from_ranklib(text).n_features_in_ == 3
    assert from_ranklib(text, n_features=136).n_features_in_ == 136
    for wrong in (2, -1, 2**40):
        with pytest.raises(ValueError, match="n_features must be at least the largest"):
            from_ranklib(text, n_features=wrong)
    with pytest.raises(TypeError, match="n_features must be an integer or None"):
        from_ranklib(text, n_features=2.5)


GOOD = HEADER.format("LambdaMART") + TWO


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("## Coordinate Ascent\n## Restart = 5\n1:0.5 2:0.5\n",
         "this is RankLib's 'Coordinate Ascent', and only its models of trees"),
        (TWO, "the first line must say which model of RankLib"),
        (GOOD[:-12], "no valid XML, or is cut off: mismatched tag: line"),
        (GOOD.replace("<threshold> -0.25", "<threshold> x", 1),
         "tree 1: threshold is no number: 'x'"),
        (GOOD.replace("> 0.1 <", "> 1e39 <"), "threshold is '1e39', but must be a fi"),
        (GOOD.replace("> 0.1 <", "> NaN <"), "threshold is 'NaN', but must be a fin"),
        (GOOD.replace("<feature>3", "<feature>0"), "feature must be a number from 1 t"),
        (GOOD.replace("<feature>3", "<feature>-3"), "a number from 1, got '-3'"),
        (GOOD.replace("<feature>3", "<feature>999999999"), "1 to 1048576, got 999999"),
        (GOOD.replace('"right"', '"left"'), "and a left and a right <split>"),
        (GOOD.replace('weight="0.3"', ""), "tree 2: weight is no number: ''"),
        (GOOD.replace("tree", "bush"), "tree 1: it must be a <tree> with one <split>"),
        (GOOD.replace("<ensemble>", '<!DOCTYPE a [<!ENTITY b "c">]><ensemble>'),
         "a declaration or comment"),
        (HEADER.format("MART") + "<ensemble></ensemble>", "the model has no trees"),
        (HEADER.format("MART") + "<ensemble></ensemble><a/>", "nothing but ensembles"),
    ],
)  # fmt: skip
def test_what_is_damaged_is_refused_and_says_where(text, message):
    with pytest.raises(ValueError, match=message):
        from_ranklib(text)
