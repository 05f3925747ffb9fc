"""Thousands of damaged and hostile texts: a ValueError, or a model that works."""

from __future__ import annotations

import json
import random
import warnings
from functools import partial

import numpy as np
import pytest

from sklearn_ltr.export import (
    from_catboost,
    from_json,
    from_lightgbm,
    from_xgboost,
    to_json,
    to_lightgbm,
    to_xgboost,
)
from sklearn_ltr.mart import MARTRegressor
from tests.export.models import TREES, grades, numbers, table

N_MUTATIONS = 2000  # of the texts of a library, half of them of the values in them
SMALL = TREES | {"n_estimators": 2, "max_leaf_nodes": 4}
X = {"numbers": numbers()[:50], "categories": table()[:50]}
MODELS = {kind: MARTRegressor(**SMALL).fit(x, grades(x)) for kind, x in X.items()}
HOSTILE = [
    None, True, -1, 0, 1, 2**31, 2**63, -(2**70), 10**400, 0.5, 1e308, -1e308, 1e-320,
    "", "x", "9" * 5000, "nan", "\ud800", [], [[]], {}, {"a": 1}, [0] * 50,
    [1e400], "1e400", "[1", "-1", "2147483647",
]  # fmt: skip


def catboost_text():
    split = {"border": 0.5, "float_feature_index": 1, "split_type": "FloatFeature"}
    tree = {
        "leaf_values": [1.5, 2.5, 3.5, 4.5],
        "leaf_weights": [1, 2, 3, 4],
        "splits": [split, split | {"border": 0.25, "float_feature_index": 3}],
    }
    columns = [
        {"feature_index": j, "flat_feature_index": j, "feature_id": "",
         "nan_value_treatment": "AsFalse"} for j in range(5)
    ]  # fmt: skip
    return json.dumps(
        {"features_info": {"float_features": columns}, "oblivious_trees": [tree, tree],
         "scale_and_bias": [1, [0.5]]}
    )  # fmt: skip


CASES = {
    ("json", kind): (from_json, to_json(model)) for kind, model in MODELS.items()
} | {
    ("lightgbm", kind): (from_lightgbm, to_lightgbm(model))
    for kind, model in MODELS.items()
} | {
    ("xgboost", kind): (from_xgboost, to_xgboost(model))
    for kind, model in MODELS.items()
} | {("catboost", "numbers"): (from_catboost, catboost_text())}  # fmt: skip


def damaged_bytes(text, rng):
    """Cut, flip, repeat or exchange a part of a text."""
    data = bytearray(text.encode())
    i, j = sorted(rng.randrange(len(data)) for _ in range(2))
    match rng.randrange(5):
        case 0:
            del data[i:]
        case 1:
            data[i] ^= 1 << rng.randrange(8)
        case 2:
            data[i:i] = data[i : min(j, i + 200)]
        case 3:
            del data[i : min(j, i + 30)]
        case _:
            data[i : i + 1] = rng.choice([b"9" * 30, b"-", b"e99", b"[" * 5000, b"NaN"])
    return bytes(data)


def damaged_values(text, rng):
    """Replace a value somewhere in a JSON document, or drop or repeat it."""
    document = json.loads(text)
    part = document
    while True:
        key = rng.choice(list(part) if isinstance(part, dict) else range(len(part)))
        child = part[key]
        if not (isinstance(child, dict | list) and child) or rng.random() < 0.15:
            break
        part = child
    match rng.randrange(5):
        case 0:
            del part[key]
        case 1 if isinstance(part, list):
            part.insert(key, child)
        case 2 if isinstance(child, int | float) and not isinstance(child, bool):
            part[key] = rng.choice([child + 1, -child, child * 2, child - 1])
        case _:
            part[key] = rng.choice(HOSTILE)
    return json.dumps(document).encode()


def damaged_words(text, rng):
    """Replace a number of LightGBM's text, or drop or repeat it."""
    lines = text.split("\n")
    number = rng.choice([i for i, line in enumerate(lines) if line])
    words = lines[number].replace("=", "= ", 1).split(" ")
    place = rng.randrange(len(words))
    words[place : place + 1] = rng.choice(
        [[], [words[place]] * 2, ["nan"], ["-1"], ["0"], ["1e999"], ["7"], ["9" * 40],
         ["99999999"], ["0x10"], ["1_0"], ["٣"], ["\x00"]]
    )  # fmt: skip
    lines[number] = " ".join(words).replace("= ", "=", 1)
    if rng.random() < 0.1:
        lines.insert(number, rng.choice(lines))
    return "\n".join(lines).encode()


def outcome(read, data, rows):
    """Return whether a text was refused; a model that was read must score."""
    try:
        model = read(data)
    except ValueError as error:
        assert str(error)
        return "refused"
    try:
        scores = model.predict(rows)
    except ValueError as error:  # other names, or other kinds of categories
        assert "X" in str(error) or "init_score" in str(error), error
        return "other columns"
    assert np.isfinite(scores).all() and scores.shape == (len(rows),)
    return "read"


@pytest.mark.parametrize(("library", "kind"), CASES)
@pytest.mark.parametrize("of_values", [False, True])
def test_a_damaged_text_is_refused_or_is_a_model(library, kind, of_values):
    read, text = CASES[library, kind]
    damage = damaged_bytes
    if of_values:
        damage = damaged_words if library == "lightgbm" else damaged_values
    rng, counts = random.Random(f"{library} {kind}"), {"refused": 0, "read": 0}
    rows = X[kind][:3]
    n_texts = sum(of == library for of, _ in CASES)
    n_mutations = N_MUTATIONS // (2 * n_texts)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # newer version, feature names
        for _ in range(n_mutations):
            found = outcome(partial(read), damage(text, rng), rows)
            counts[found] = counts.get(found, 0) + 1
    assert counts["refused"] > n_mutations / 5, counts


@pytest.mark.parametrize("library", ["json", "lightgbm", "xgboost", "catboost"])
def test_every_place_where_a_text_can_be_cut_off(library):
    read, text = CASES[library, "numbers"]
    for stop in range(0, len(text) - 1, max(1, len(text) // 400)):
        if library == "lightgbm" and "end of trees" in text[:stop]:
            break
        with pytest.raises(ValueError, match="."):
            read(text[:stop].encode())
