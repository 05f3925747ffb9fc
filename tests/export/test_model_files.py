"""Files that people have: read, or named, with what to do instead."""

from __future__ import annotations

import gzip
import json
import pickle
from pathlib import Path

import numpy as np
import pytest

from sklearn_ltr.export import (
    from_catboost,
    from_json,
    from_lightgbm,
    from_ranklib,
    from_xgboost,
    to_json,
    to_lightgbm,
    to_onnx,
    to_ranklib,
    to_xgboost,
    to_xgboost_dump,
)
from tests.export.models import fitted
from tests.export.test_imported import OF_CATBOOST, X, trained

MODEL = fitted()["ranker"]
READERS = [from_catboost, from_json, from_lightgbm, from_ranklib, from_xgboost]
TEXTS = {
    from_json: to_json(MODEL),
    from_lightgbm: to_lightgbm(MODEL),
    from_ranklib: to_ranklib(MODEL, missing="zero"),
    from_xgboost: to_xgboost(MODEL),
    from_catboost: json.dumps(OF_CATBOOST),
}
each_reader = pytest.mark.parametrize("reader", READERS)
ROWS = np.nan_to_num(X)


@each_reader
def test_text_and_files_of_every_encoding_are_read(reader, tmp_path):
    text, path = TEXTS[reader], tmp_path / "model"
    model = reader(text)
    rows = ROWS[:, : model.n_features_in_]
    expected = model.predict(rows)
    path.write_text(text, encoding="utf-8")
    forms = [path, str(path), text.encode(), "\n" + text, "\ufeff" + text]
    forms += ["\ufeff\n" + text, text.replace("\n", "\r\n"), text.encode("utf-8-sig")]
    forms += [text.encode("utf-16")]
    for form in forms:
        np.testing.assert_array_equal(reader(form).predict(rows), expected)


@each_reader
def test_the_readers_name_each_others_files(reader):
    for other, text in TEXTS.items():
        if other is not reader:
            with pytest.raises(ValueError, match=f": read it by {other.__name__}$"):
                reader(text)


OLD_BINARY = np.float32(0.5).tobytes() + bytes(140) + b"\x09" + bytes(7) + b"rank:ndcg"
OLD_BINARY += b"\x06" + bytes(7) + b"gbtree" + b"\xff" * 9
OTHERS = {
    "a pickle: load it": pickle.dumps(MODEL),
    "a compressed file: unpack it": gzip.compress(TEXTS[from_json].encode()),
    "binary model of versions before 3.1: load it by": OLD_BINARY,
    "XGBoost's dump, which lacks .*save_model": to_xgboost_dump(MODEL),
    "XGBoost's dump, for people: save": "booster[0]:\n0:[f0<1] yes=1,no=2,missing=1\n",
    "a model in PMML: it cannot be read": '<?xml version="1.0"?>\n<PMML></PMML>',
    "binary model, .cbm: save the model": b"CBM1\xc0<\x00\x00",
    "the model is no text .*codec": b"\xfe\xfa\xfb\xfc",
}


@each_reader
@pytest.mark.parametrize("message", OTHERS)
def test_files_that_are_not_read_are_named(reader, message, tmp_path):
    content, path = OTHERS[message], tmp_path / "model"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    for given in (content, path):
        with pytest.raises(ValueError, match=message):
            reader(given)


@each_reader
def test_what_is_empty_is_said(reader, tmp_path):
    path = tmp_path / "empty.json"
    path.write_text("\n")
    for given in ("", b"", "\ufeff", " \n"):
        with pytest.raises(ValueError, match="and it is empty"):
            reader(given)
    for given in (path, str(path)):
        with pytest.raises(ValueError, match=r"and the file '.*empty.json' is empty"):
            reader(given)
    with pytest.raises(FileNotFoundError):
        reader(tmp_path / "none.json")
    for dump in ([{"nodeid": 0}], {"tree_info": []}):
        with pytest.raises(TypeError, match="a dump is not enough"):
            reader(dump)


@each_reader
def test_damaged_text_that_could_be_a_path_is_said_to_be_damaged(reader):
    text = TEXTS[from_xgboost]
    ends = ('"trees": []}]}', "[1, 2", "}", text[1:], text[1:300], json.dumps(text))
    for given in (*ends, str(text.encode()), "0123456789abcdef" * 60):
        with pytest.raises(ValueError, match="damaged|first line|no valid"):
            reader(given)
    for given in ("model.json", "lr=0.1/model.json", "null", "0.5, 0.25, -1"):
        with pytest.raises(FileNotFoundError, match="no file .* is damaged or cut off"):
            reader(given)


@each_reader
def test_a_list_of_a_model_is_no_model(reader):
    with pytest.raises(ValueError, match="no model|no JSON of|no LightGBM model"):
        reader(f"[{TEXTS[from_json]}]")


@pytest.mark.parametrize("library", ["lightgbm", "xgboost", "catboost"])
@each_reader
def test_what_the_libraries_themselves_write(library, reader, tmp_path):
    model, path = trained(library), str(tmp_path / "model")
    files = []
    if library == "lightgbm":
        files.append((json.dumps(model.dump_model()), "LightGBM's dump in JSON: save"))
    elif library == "xgboost":
        for suffix, message in (
            (".ubj", "binary JSON, .ubj: save the model by"),
            (".json", "XGBoost's dump, which lacks"),
            (".txt", "XGBoost's dump, for people"),
        ):
            if suffix == ".ubj":
                model.save_model(path + suffix)
            else:
                kind = "json" if suffix == ".json" else "text"
                model.dump_model(path + suffix, dump_format=kind)
            files.append((Path(path + suffix), message))
    else:
        for suffix, message in (
            ("cbm", "CatBoost's binary model, .cbm: save the model by"),
            ("onnx", "a model in ONNX: it cannot be read"),
        ):
            model.save_model(f"{path}.{suffix}", format=suffix)
            files.append((Path(f"{path}.{suffix}"), message))
    for given, message in files:
        with pytest.raises(ValueError, match=message):
            reader(given)


@each_reader
def test_our_onnx_is_named(reader):
    pytest.importorskip("onnx")
    with pytest.raises(ValueError, match="a model in ONNX"):
        reader(to_onnx(MODEL).SerializeToString())


def test_lightgbm_before_2_2_has_no_line_at_the_end():
    text = TEXTS[from_lightgbm]
    old = text.replace("version=v4", "version=v2")
    old = old.replace("end of trees", "\nfeature importances:\nColumn_0=5")
    rows = np.array(ROWS)
    expected = from_lightgbm(text).predict(rows)
    np.testing.assert_array_equal(from_lightgbm(old).predict(rows), expected)
    before, _, after = old.rpartition("Tree=")
    cut = before + after[after.index("\nfeature importances:") :]
    with pytest.raises(ValueError, match="the text is cut off"):
        from_lightgbm(cut)
