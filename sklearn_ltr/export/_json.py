"""Models as JSON text: the safe way to keep one (docs/model_format.md)."""

from __future__ import annotations

import json
import zlib
from importlib.resources import files
from typing import Any

from sklearn.base import BaseEstimator

from sklearn_ltr._core.caller import warn_caller
from sklearn_ltr._core.data.rows import LARGEST_EXACT
from sklearn_ltr._core.estimators.base import (
    VERSION,
    NewerVersionWarning,
    release_numbers,
)
from sklearn_ltr.export._document import excerpt, member, parse
from sklearn_ltr.export._json_models import Model, model_value, read_model
from sklearn_ltr.export._model_files import TextOrFile, no_model, text_of

__all__ = ["from_json", "json_schema", "to_json"]

FORMAT = "sklearn_ltr"
FORMAT_VERSION = 1


def to_json(estimator: BaseEstimator) -> str:
    """Return a fitted model as JSON text.

    Unlike a pickle, any language can read it without executing anything, and it does
    not depend on versions of Python or numpy.  ``docs/model_format.md`` describes it;
    :func:`json_schema` returns its JSON schema.

    Parameters
    ----------
    estimator : LambdaMARTRanker, MARTRegressor, MARTClassifier, LambdaRankRanker, \
            RankNetRanker, or a Pipeline, BaggingRanker or BlendedRanker of them
        Fitted.  The steps of a Pipeline before the last one are SimpleImputer,
        StandardScaler, MinMaxScaler, SmoothClipScaler or TableVectorizer; imputers and
        trees are written as trees that do the same.  A base model, `init`, that is
        itself a LambdaMARTRanker or a MARTRegressor on the same columns is written as
        the first trees of one model.

    Returns
    -------
    text : str
        All of the model: :func:`from_json` returns an estimator of the same parameters
        that predicts the same bytes.  Trees, unless they had an `init`, continue with
        `warm_start` as these.  Networks do not continue, and curves, out-of-bag
        estimates and metadata requests of networks, bags and blends are not kept.

    Raises
    ------
    TypeError
        For any other estimator, also within this one, and a network of your own.
    ValueError
        If `init` is a model of another kind, or a parameter is an object that JSON
        cannot hold, such as a metric of your own or a `RandomState`; for a step of a
        Pipeline that adds or leaves out columns, or has infinite numbers.
    NotFittedError
        Before `fit`.

    Examples
    --------
    >>> from sklearn_ltr import LambdaMARTRanker
    >>> from sklearn_ltr.export import from_json, to_json
    >>> X, y = [[0.1], [0.9], [0.4], [0.8]], [0, 1, 0, 1]
    >>> ranker = LambdaMARTRanker(n_estimators=2, min_samples_leaf=1)
    >>> ranker = ranker.fit(X, y, groups=[1, 1, 2, 2])
    >>> bool((from_json(to_json(ranker)).predict(X) == ranker.predict(X)).all())
    True
    """
    document = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "library_version": VERSION,
        **model_value(estimator),
    }
    document["checksum"] = checksum_of_document(document)
    return json.dumps(document, allow_nan=False)


def checksum_of_document(document: dict[str, Any]) -> int:
    """Return the CRC-32 of all members but the checksum, however they are written."""
    content = {n: value for n, value in document.items() if n != "checksum"}
    text = json.dumps(with_floats(content), sort_keys=True, separators=(",", ":"))
    return zlib.crc32(text.encode())


def with_floats(value: Any) -> Any:
    """Return a JSON value with floats for integers, and 0 for -0."""
    # some programs write 1.0 as 1, and -0.0 as 0
    if type(value) is float or (type(value) is int and abs(value) < LARGEST_EXACT):
        return float(value) + 0.0
    if isinstance(value, list | tuple):
        kinds = set(map(type, value))
        if kinds == {float}:
            return [item + 0.0 for item in value]
        if kinds == {int} and max(map(abs, value)) < LARGEST_EXACT:
            return list(map(float, value))
        return [with_floats(item) for item in value]
    if isinstance(value, dict):
        return {str(name): with_floats(item) for name, item in value.items()}
    return value


def json_schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of what :func:`to_json` writes.

    Examples
    --------
    >>> from sklearn_ltr.export import json_schema
    >>> json_schema()["required"]
    ['format', 'format_version', 'library_version']
    """
    schema: dict[str, Any] = json.loads(
        files("sklearn_ltr.export").joinpath("model.schema.json").read_text("utf-8")
    )
    return schema


def from_json(text: TextOrFile) -> Model:
    """Return the fitted estimator that JSON text describes.

    Parameters
    ----------
    text : str, bytes or path
        What :func:`to_json` has returned, of this version or an older one; or a path,
        or text of one line, that names the file which holds it.

    Returns
    -------
    estimator : object
        Of a class that :func:`to_json` takes.  A network cannot be continued, by
        `warm_start` or `partial_fit`, but fitted anew.

    Raises
    ------
    ValueError
        If the text is not a model, or is damaged; the message names the place.  The
        checksum, which is optional, detects changed numbers.  The text is never
        executed, and memory grows with its length only.
    TypeError
        For anything else.

    Warns
    -----
    NewerVersionWarning
        If a newer version of the package has written it.

    Examples
    --------
    >>> from sklearn_ltr import LambdaMARTRanker
    >>> from sklearn_ltr.export import from_json, to_json
    >>> ranker = LambdaMARTRanker(n_estimators=2, min_samples_leaf=1, random_state=0)
    >>> ranker = ranker.fit([[1.0], [2.0], [3.0]], [0, 1, 2], groups=[7, 7, 7])
    >>> from_json(to_json(ranker)).predict([[2.0]]) == ranker.predict([[2.0]])
    array([ True])
    """
    text = text_of(text, "text must be the JSON of a model, or its file")
    unlike = f'this is no model written by to_json: "format" is not "{FORMAT}"'
    if text.lstrip()[:1] not in ("{", "["):
        raise no_model(text, f"this is no valid JSON, and {unlike}")
    document = parse(text)
    if type(document) is not dict or document.get("format") != FORMAT:
        is_changed = type(document) is dict and "library_version" in document
        raise ValueError(unlike) if is_changed else no_model(text, unlike)
    version = member(document, "format_version", int)
    if version != FORMAT_VERSION:
        raise ValueError(
            f"format_version is {excerpt(version)}, and sklearn_ltr {VERSION} reads "
            f"{FORMAT_VERSION}: use another version of it"
        )
    written_by = member(document, "library_version", str)
    try:
        is_newer = release_numbers(written_by) > release_numbers(VERSION)
    except ValueError:
        raise ValueError(f"library_version is {excerpt(written_by)}") from None
    if is_newer:
        warn_caller(
            f"this model was written by sklearn_ltr {written_by}, but this is the "
            f"older {VERSION}: upgrade, or check its scores",
            NewerVersionWarning,
        )
    try:
        estimator = read_model(document)
        found = checksum_of_document(document)
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None
    if "checksum" in document and (saved := member(document, "checksum", int)) != found:
        raise ValueError(
            f"checksum is {excerpt(saved)}, which is not that of the rest: the "
            "model is damaged, so load it from another copy; or, if it was changed "
            'on purpose, remove "checksum" from it'
        )
    return estimator
