"""Models of other libraries: in every form, of newer versions, and damaged."""

from __future__ import annotations

import json
import random
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from sklearn_ltr.export import (
    from_catboost,
    from_json,
    from_lightgbm,
    from_ranklib,
    from_xgboost,
    to_json,
    to_lightgbm,
    to_ranklib,
    to_xgboost,
)
from sklearn_ltr.export._xgboost import NEWEST_XGBOOST
from sklearn_ltr.mart import MARTRegressor
from tests.export.models import (
    GROUPS,
    LENGTH,
    N_QUERIES,
    TREES,
    fitted,
    grades,
    numbers,
    table,
)

READERS = {
    "lightgbm": from_lightgbm,
    "xgboost": from_xgboost,
    "catboost": from_catboost,
}
X = np.clip(numbers(), -1e30, 1e30)
Y = grades(X)


def trained(library, rows=X, **options):
    """A model of another library, a random forest if `options` are given."""
    peer = pytest.importorskip(library)
    if library == "lightgbm":
        data = peer.Dataset(rows, grades(rows), group=[LENGTH] * N_QUERIES)
        given = {"objective": "lambdarank", "verbose": -1, "num_threads": 1}
        return peer.train(given | options, data, 4)
    if library == "xgboost":
        data = peer.DMatrix(rows, grades(rows), qid=GROUPS, enable_categorical=True)
        return peer.train({"objective": "rank:ndcg", "nthread": 1} | options, data, 4)
    given = {"loss_function": "YetiRank", "iterations": 4, "depth": 3, "verbose": 0}
    model = peer.CatBoost(given | {"allow_writing_files": False, "thread_count": 1})
    return model.fit(peer.Pool(rows, grades(rows), group_id=GROUPS))


def assert_same_scores(library, found, expected):
    # XGBoost adds in float32, CatBoost in another order
    rtol = {"lightgbm": 0, "xgboost": 1e-5, "catboost": 1e-13}[library]
    atol = rtol * np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol)


@pytest.mark.parametrize("library", READERS)
def test_a_model_is_read_in_all_its_forms(library, tmp_path):
    read, model = READERS[library], trained(library)
    path = tmp_path / "model.json"
    forms = [path, str(path)]
    if library == "catboost":
        model.save_model(str(path), format="json")
    elif library == "lightgbm":
        model.save_model(path)
        ranker = pytest.importorskip(library).LGBMRanker(n_estimators=2, verbose=-1)
        ranker.fit(X, Y, group=[LENGTH] * N_QUERIES)
        assert_same_scores(library, read(ranker).predict(X), ranker.booster_.predict(X))
    else:
        model.save_model(path)
        ranker = pytest.importorskip(library).XGBRanker(n_estimators=2, n_jobs=1)
        ranker.fit(X, Y, qid=GROUPS)
        assert_same_scores(library, read(ranker).predict(X), ranker.predict(X))
    expected = read(model).predict(X)
    for form in (*forms, path.read_text(), path.read_bytes()):
        np.testing.assert_array_equal(read(form).predict(X), expected)
    for other in (fitted()["ranker"], None, 3, [1]):
        with pytest.raises(TypeError, match="must be a fitted model of "):
            read(other)


class Newer:
    """A model of a version that is to come, which may have learned a new trick."""

    def __init__(self, model, change, off=0.0):
        self._model, self._change, self._off = model, change, off

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._model, name)

    def model_to_string(self):
        return self._change(self._model.model_to_string())

    def save_raw(self, kind):
        return self._change(bytes(self._model.save_raw(kind)).decode()).encode()

    def save_model(self, path, format):
        self._model.save_model(path, format=format)
        Path(path).write_text(self._change(Path(path).read_text()))

    def predict(self, rows, **options):
        return self._model.predict(rows, **options) + self._off


def replaced(old, new):
    return lambda text: text.replace(old, new, 1)


def with_part(*path, value=1.0):
    def change(text):
        part = document = json.loads(text)
        for key in path[:-1]:
            part = part[key]
        part[path[-1]] = value
        return json.dumps(document)

    return change


MODEL = ("learner", "gradient_booster", "model")
NEWER_XGBOOST = NEWEST_XGBOOST[0], NEWEST_XGBOOST[1] + 1
TRICKS = [
    ("lightgbm", replaced("version=v4", "version=v5"), "version 'v5' of its text"),
    ("lightgbm", replaced("label_index=0", "label_index=0\nfactor=2"), "header.factor"),
    ("lightgbm", replaced("is_linear=0", "is_linear=0\nfactor=2"), "Tree=0.factor"),
    ("xgboost", with_part("version", value=[*NEWER_XGBOOST, 0]),
     "version {}.{}.0".format(*NEWER_XGBOOST)),
    ("xgboost", with_part("learner", "tree_factors"), "learner.tree_factors"),
    ("xgboost", with_part(*MODEL[:2], "dropped"), "gradient_booster.dropped"),
    ("xgboost", with_part(*MODEL, "factors"), "model.factors"),
    ("xgboost", with_part(*MODEL, "trees", 1, "slope"), r"trees\[1\].slope"),
    ("catboost", with_part("oblivious_trees", 1, "factor"),
     r"oblivious_trees\[1\].factor"),
    ("catboost", with_part("model_info", "catboost_version_info",
                           value="Branch: tags/v1.13.0"), "version 1.13"),
]  # fmt: skip
FOREST = {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5}


@pytest.mark.parametrize(("library", "change", "message"), TRICKS)
@pytest.mark.parametrize("kind", ["numbers", "categories", "random forest"])
def test_what_is_newer_is_compared_with_the_library_or_refused(
    library, change, message, kind, tmp_path
):
    if library == "catboost" and kind != "numbers":
        pytest.skip("categories of CatBoost are not read")
    read, rows = READERS[library], X
    if kind == "categories":
        rows = table()
        rows = rows.assign(price=rows["price"].astype(np.float32).astype(float))
    options = FOREST if (library, kind) == ("lightgbm", "random forest") else {}
    model = trained(library, rows, **options)
    newer = Newer(model, change)
    expected = read(model).predict(rows)
    np.testing.assert_array_equal(read(newer).predict(rows), expected)
    path = tmp_path / "model"
    if library == "lightgbm":
        path.write_text(newer.model_to_string())
    elif library == "xgboost":
        path.write_bytes(newer.save_raw("json"))
    else:
        newer.save_model(path, "json")
    with pytest.raises(ValueError, match=f"not been checked with {message}: give the"):
        read(path)
    with pytest.raises(ValueError, match="scores the model differently, by up"):
        read(Newer(model, change, off=0.01))


# --- damaged and hostile texts: a ValueError, or a model that works -------------------

N_DAMAGED = 3 * settings().max_examples  # of each text, in each way
SMALL = TREES | {"n_estimators": 2, "max_leaf_nodes": 4}
ROWS = {"numbers": numbers()[:50], "categories": table()[:50]}
MODELS = {kind: MARTRegressor(**SMALL).fit(x, grades(x)) for kind, x in ROWS.items()}
HOSTILE = [
    None, True, -1, 0, 1, 2**31, 2**63, -(2**70), 10**400, 0.5, 1e308, -1e308, 1e-320,
    "", "x", "9" * 5000, "nan", "\ud800", [], [[]], {}, {"a": 1}, [0] * 50,
    [1e400], "1e400", "[1", "-1", "2147483647",
]  # fmt: skip
SPLIT = {"border": 0.5, "float_feature_index": 1, "split_type": "FloatFeature"}
OBLIVIOUS = {
    "leaf_values": [1.5, 2.5, 3.5, 4.5],
    "leaf_weights": [1, 2, 3, 4],
    "splits": [SPLIT, SPLIT | {"border": 0.25, "float_feature_index": 3}],
}
COLUMN = {"feature_id": "", "nan_value_treatment": "AsFalse"}
OF_CATBOOST = {
    "features_info": {
        "float_features": [
            {"feature_index": j, "flat_feature_index": j} | COLUMN for j in range(5)
        ]
    },
    "oblivious_trees": [OBLIVIOUS, OBLIVIOUS],
    "scale_and_bias": [1, [0.5]],
}
FORMATS = {
    "json": (from_json, to_json),
    "lightgbm": (from_lightgbm, to_lightgbm),
    "xgboost": (from_xgboost, to_xgboost),
}
TEXTS = {
    (library, kind): (read, write(model))
    for library, (read, write) in FORMATS.items()
    for kind, model in MODELS.items()
} | {
    ("catboost", "numbers"): (from_catboost, json.dumps(OF_CATBOOST)),
    ("ranklib", "numbers"): (
        from_ranklib,
        to_ranklib(MODELS["numbers"], missing="zero"),
    ),
}


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
    part = document = json.loads(text)
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


def is_refused(read, data, rows):
    """Return whether a text was refused; a model that was read must score."""
    try:
        model = read(data)
    except ValueError as error:
        assert str(error)
        return True
    try:
        scores = model.predict(rows)
    except ValueError as error:  # other names, or other kinds of categories
        assert "X" in str(error) or "init_score" in str(error), error
    else:
        assert np.isfinite(scores).all() and scores.shape == (len(rows),)
    return False


@pytest.mark.parametrize(("library", "kind"), TEXTS)
@pytest.mark.parametrize("of_values", [False, True])
def test_a_damaged_text_is_refused_or_is_a_model(library, kind, of_values):
    read, text = TEXTS[library, kind]
    damage = damaged_bytes
    if of_values and library != "ranklib":
        damage = damaged_words if library == "lightgbm" else damaged_values
    rng = random.Random(f"{library} {kind}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # newer version, feature names
        n_refused = sum(
            is_refused(read, damage(text, rng), ROWS[kind][:3])
            for _ in range(N_DAMAGED)
        )
    assert n_refused > N_DAMAGED / 5  # the damage is not only in what nobody reads
    for stop in range(0, len(text) - 1, len(text) // 30):  # cut off
        if "end of trees" in text[:stop]:
            break
        with pytest.raises(ValueError, match="."):
            read(text[:stop].encode())
