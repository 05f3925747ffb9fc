"""Read files of models; recognize other kinds of files, for messages."""

from __future__ import annotations

import errno
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from sklearn_ltr.export._document import excerpt, parse

TextOrFile: TypeAlias = str | bytes | os.PathLike[str]

UTF16 = (b"\xff\xfe", b"\xfe\xff")  # byte-order marks
LONGEST_PATH = 4096
NO_SUCH_FILE = (errno.ENOENT, errno.ENAMETOOLONG, errno.EINVAL)


class Kind(NamedTuple):
    """A kind of file."""

    what: str
    instead: str  # what to do with it


AGAIN = 'save the model by save_model("model.json"), or give it as an object of XGBoost'
# what bytes that are not text begin with
BINARY_KINDS = {
    rb"\{[LlIiUu#$]": Kind("XGBoost's binary JSON, .ubj", AGAIN),
    rb"CBM1": Kind(
        "CatBoost's binary model, .cbm",
        'save the model by save_model("model.json", format="json"), or give it as an '
        "object of CatBoost",
    ),
    rb"\x80[\x02-\x05]": Kind("a pickle", "load it, if you trust it, by pickle.load"),
    rb"\x1f\x8b|BZh|PK\x03\x04|\xfd7zXZ|\x28\xb5\x2f\xfd": Kind(
        "a compressed file", "unpack it first"
    ),
    rb"\x08[\s\S]{0,300}?(?:CatBoost|onnx|sklearn_ltr)": Kind(
        "a model in ONNX", "it cannot be read; give the model that it was made from"
    ),
    rb"(?![\s{\[])[\s\S]{0,400}\0(?:gbtree|gblinear|dart)": Kind(
        "XGBoost's binary model of versions before 3.1",
        "load it by an XGBoost before 3.1, and " + AGAIN,
    ),
}
# what texts begin with
TEXT_KINDS = {
    r"tree\s*\n": Kind("a model of LightGBM", "read it by from_lightgbm"),
    r"##[\s\S]*?<ensemble>|<ensemble>": Kind(
        "a model of RankLib", "read it by from_ranklib"
    ),
    r"booster\[\d|\d+:(?:\[|leaf=)": Kind("XGBoost's dump, for people", AGAIN),
    r"(?:<\?xml[^>]*>\s*)?<(?:\w+:)?PMML": Kind(
        "a model in PMML", "it cannot be read; give the model that it was made from"
    ),
}
# keys of JSON objects
JSON_KINDS = {
    "learner": Kind("a model of XGBoost", "read it by from_xgboost"),
    "nodeid": Kind("XGBoost's dump, which lacks parts of the model", AGAIN),
    "features_info": Kind("a model of CatBoost", "read it by from_catboost"),
    "library_version": Kind("a model written by to_json", "read it by from_json"),
    "tree_info": Kind(
        "LightGBM's dump in JSON",
        'save the model by save_model("model.txt"), or give it as an object of '
        "LightGBM",
    ),
}


def text_of(model: object, wanted: str) -> str:
    """Return the text of a model, which may be in a file; `wanted` is for messages."""
    content, place = model, "it"
    is_path = isinstance(model, os.PathLike)
    if isinstance(model, str):  # a path is one line, which no model is
        begin = model.lstrip("\ufeff \t\r")
        is_path = not (
            begin.startswith(("{", "[{", '["', "[]", "<", "## "))
            or begin == ""
            or "\n" in model
            or "\0" in model
            or len(model) > LONGEST_PATH
        )
    if is_path:
        path: Any = model
        place = f"the file {os.fspath(path)!r}"
        try:
            content = Path(path).read_bytes()
        except OSError as error:
            if not isinstance(model, str) or error.errno not in NO_SUCH_FILE:
                raise
            is_text = error.errno != errno.ENOENT or re.search(r'[{}\[\]"<>]', model)
            raise (ValueError if is_text else FileNotFoundError)(
                f"there is no file {excerpt(model)}; or if this is the text of a "
                "model, it is damaged or cut off: save the model again"
            ) from None
    if isinstance(content, bytes | bytearray):
        content = decoded(bytes(content))
    if not isinstance(content, str):
        dump = ""
        if isinstance(content, list | dict):
            dump = "; a dump is not enough: give the model itself"
        raise TypeError(f"{wanted}, got {type(content).__name__}{dump}")
    if not content.strip("\ufeff \t\r\n"):
        raise ValueError(f"{wanted}, and {place} is empty")
    return content.removeprefix("\ufeff")


def decoded(content: bytes) -> str:
    """Return bytes as text; a ValueError that says what they are, if they are none."""
    for pattern, kind in BINARY_KINDS.items():
        if re.match(pattern, content):
            raise ValueError(f"the model is no text, but {kind.what}: {kind.instead}")
    try:
        return content.decode("utf-16" if content[:2] in UTF16 else "utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"the model is no text ({error})") from None


def json_model(text: str, library: str, key: str) -> dict[str, Any]:
    """Return the JSON object of a model, which has a key; else say what the text is."""
    if not text.lstrip().startswith("{"):
        message = f'no JSON of {library}, which begins with "{{", or it is damaged'
        raise no_model(text, f"this is {message}")
    document = parse(text)
    if key in document:
        found: dict[str, Any] = document
        return found
    raise no_model(text, f"{key} is missing, so this is no model of {library}")


def no_model(text: str, message: str) -> ValueError:
    """Return the error for a text that is of another kind, or of none that is known."""
    text = text.lstrip()
    kinds = (kind for pattern, kind in TEXT_KINDS.items() if re.match(pattern, text))
    found = next(kinds, None)
    if found is None:
        with suppress(ValueError):
            document, known = parse(text), JSON_KINDS
            while isinstance(document, list) and document:  # of trees
                document, known = document[0], {"nodeid": JSON_KINDS["nodeid"]}
            if isinstance(document, dict):
                found = next((known[key] for key in known if key in document), None)
    return ValueError(f"this is {found.what}: {found.instead}" if found else message)
