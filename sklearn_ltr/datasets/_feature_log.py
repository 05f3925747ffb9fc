"""Read the features that search engines log, and join them with grades or clicks."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from sklearn_ltr._core.caller import warn_caller
from sklearn_ltr._core.data.features import NamedArray
from sklearn_ltr._core.typing import FloatArray, IdsLike, IntArray, NamesLike
from sklearn_ltr.datasets._judgments import read_judgments
from sklearn_ltr.datasets._records import (
    Record,
    Records,
    as_json,
    hits_of,
    is_object,
    members,
    number_of,
    read_name,
    read_names,
    read_records,
    shown,
)
from sklearn_ltr.datasets._trec import column_of, grade_of_unjudged

#: where hits have logs that have no name of their own
SOLR = ("[features]", "[fv]")
VESPA = ("matchfeatures", "rankfeatures", "summaryfeatures")
OF_CLICKS = ("clicks", "positions", "sessions")
#: what engines add to the features
NO_FEATURES = ("extra_logging", "vespa.summaryFeatures.cached")
ASK = (
    "ask for it (ext.ltr_log of Elasticsearch and OpenSearch, [features] in fl of "
    "Solr, match-features of Vespa's rank profile)"
)


class FeatureLog(Bunch):
    """Result of :func:`load_feature_log`."""

    data: FloatArray
    groups: NDArray[np.str_]
    documents: NDArray[np.str_]
    feature_names: NDArray[np.str_]


class JoinedFeatures(FeatureLog):
    """Result of :func:`join_features`."""

    data: Any  # (n_rows, n_features), a frame if there is pandas
    target: FloatArray
    clicks: IntArray
    positions: IntArray
    sessions: NDArray[Any]
    n_unlogged: int
    n_unused: int


def load_feature_log(
    responses: Records,
    *,
    groups: IdsLike | None = None,
    feature_names: NamesLike | None = None,
    log: str | None = None,
    id_field: str | None = None,
) -> FeatureLog:
    """Read the features that a search engine logged in its responses.

    Parameters
    ----------
    responses : path, file object, dict or list
        Search responses as JSON, in a file (JSON or JSON lines in UTF-8, plain or
        compressed by gzip or bzip2) or as ``json.load`` returns them: of the plugin
        Learning to Rank of Elasticsearch and OpenSearch (``_ltrlog`` in the ``fields``
        of hits; ``responses`` of ``_msearch``, too), of Solr (``[features]`` of
        documents), or of Vespa (``matchfeatures``, ``rankfeatures`` or
        ``summaryfeatures``).

        Responses do not say which query they belong to.  Give a dict of responses by
        query; or add a key ``query`` to each response, or to an object that holds it as
        ``response``; or give `groups`.
    groups : array-like of shape (n_responses,), default=None
        Query of each response, in their order.
    feature_names : array-like of shape (n_features,), default=None
        Columns to return, such as ``ranker.feature_names_in_``; others of the log are
        left out, whatever they hold.  None: all features, in the order of their first
        occurrence.
    log : str, default=None
        Name of the log, if hits have several: the ``name`` of Elasticsearch's log spec,
        or one of Vespa's three.  In Solr, the name of the field, if it is not
        ``[features]`` or ``[fv]`` (``features:[fv]``).
    id_field : str, default=None
        Field of a hit, or of its source, that names the document, as judgements and
        clicks do.  None: ``_id`` of Elasticsearch and OpenSearch, ``id`` of Solr,
        ``documentid`` or ``id`` of Vespa.

    Returns
    -------
    Bunch
        ``data`` : (n_hits, n_features) float64, an array whose columns have names for
        `fit` and `predict` of this package.  A feature without a value is NaN: one
        that did not match in Elasticsearch and OpenSearch, unless the engine logs it as
        0 (``missing_as_zero``), and one that the log of a hit does not name.  (Solr's
        sparse format leaves out default values: if these are 0,
        ``numpy.nan_to_num(log.data)`` has them; its dense format has all.);
        ``groups``, ``documents`` : (n_hits,) str, query and document of each hit;
        ``feature_names`` : (n_features,) str, the names of the columns.
        :func:`join_features` joins it with judgements or clicks.

    Raises
    ------
    ValueError
        If a response has no query or is none, a hit has no log or no document, a
        feature is no number, is infinite or is there twice, or a query has a document
        twice with different features; the message names the place.  If there are no
        hits, or none has a feature of `feature_names`.
    TypeError
        If `responses` is of another type, or a name is neither text nor a whole number.

    Examples
    --------
    >>> from sklearn_ltr.datasets import load_feature_log
    >>> features = [{"name": "title_bm25", "value": 9.5}, {"name": "recency"}]
    >>> hit = {"_id": "7555", "fields": {"_ltrlog": [{"main": features}]}}
    >>> log = load_feature_log({"rambo": {"hits": {"hits": [hit]}}})
    >>> log.data.tolist(), log.groups, log.documents
    ([[9.5, nan]], array(['rambo'], dtype='<U5'), array(['7555'], dtype='<U4'))
    >>> log.feature_names
    array(['title_bm25', 'recency'], dtype='<U10')
    """
    for name, value in (("log", log), ("id_field", id_field)):
        if value is not None:
            read_name(value, name, "the name")
    asked = (
        None if feature_names is None else read_names(feature_names, "feature_names")
    )
    rows: dict[tuple[str, str], dict[str, float | None]] = {}
    for query, response in _responses(responses, groups):
        listed = _listed(response.value)  # or the value itself is a hit
        held = response if listed is None else Record(response.place, listed)
        for hit in members(held, "hit"):
            if not is_object(hit.value):
                raise ValueError(f"{hit.place}: {shown(hit.value)} is no hit")
            key = (query, _document(hit, id_field))
            features = _features(hit, log, asked)
            if rows.setdefault(key, features) != features:
                raise ValueError(
                    f"{hit.place}: document {shown(key[1])} of query {shown(query)} is "
                    "there before with other features: keep one"
                )
    if not rows:
        raise ValueError("responses has no hits: give responses of queries that have")
    logged = list(dict.fromkeys(name for row in rows.values() for name in row))
    names = logged if asked is None else asked
    unknown = [name for name in names if name not in logged]
    if unknown:
        raise ValueError(
            f"feature_names has {shown(unknown[0])}, which no hit has: the log has "
            f"{', '.join(map(shown, logged))}"
        )
    if len(set(names)) < len(names):
        raise ValueError("feature_names has a name twice: give each once")
    data = [[row.get(name) for name in names] for row in rows.values()]
    table = np.array(data, np.float64).reshape(len(rows), len(names))  # None: NaN
    return FeatureLog(
        data=NamedArray.of(table, names),
        groups=np.array([query for query, _ in rows]),
        documents=np.array([document for _, document in rows]),
        feature_names=np.array(names, dtype=np.str_),
    )


def join_features(
    rows: Mapping[str, Any] | Records,
    log: FeatureLog,
    *,
    unjudged: Literal["zero", "drop"] | float = "drop",
) -> JoinedFeatures:
    """Join judgements or clicks with the features that a search engine logged.

    ``ranker.fit(joined.data, joined.target, groups=joined.groups)`` learns from
    judgements; with clicks, give ``joined.clicks`` and ``groups=joined.sessions``.  The
    ranker keeps the names of the features, which an export for the engine needs.

    Parameters
    ----------
    rows : Bunch, or what :func:`load_judgments` takes
        Judgements, or a log of clicks as :func:`load_ubi` returns it.
    log : Bunch
        ``data``, ``groups``, ``documents`` and ``feature_names``, as
        :func:`load_feature_log` returns them.
    unjudged : {"zero", "drop"} or float of at least 0, default="drop"
        Logged documents without a judgement are left out, or have grade 0, or this
        grade, if their query has judgements.  Clicks have no such rows.

    Returns
    -------
    Bunch
        ``data`` : (n_rows, n_features), the features of each row that has them, in a
        DataFrame of pandas, or without pandas in an array that `fit` takes the names
        of; and ``feature_names`` : (n_features,) str;
        ``groups``, ``documents`` : (n_rows,) str;
        ``target`` : (n_rows,) float64, the grades; or instead ``clicks``,
        ``positions`` and ``sessions`` : (n_rows,), if `rows` are clicks;
        ``n_unlogged`` : int, number of judgements or clicks without features, and
        ``n_unused`` : int, number of logged documents that are in no row.

    Raises
    ------
    ValueError
        If no row has features, or the arguments are not as described.
    TypeError
        If they are of another type.

    Warns
    -----
    UserWarning
        If judgements, clicks, or logged documents without a judgement are left out,
        with their number and the first of them.

    Examples
    --------
    >>> from sklearn_ltr.datasets import join_features, load_feature_log
    >>> docs = [
    ...     {"id": "a", "[features]": "bm25=1.5,price=3.0"},
    ...     {"id": "b", "[features]": "bm25=0.5,price=9.0"},
    ... ]
    >>> log = load_feature_log({"hats": {"response": {"docs": docs}}})
    >>> joined = join_features({"hats": {"b": 2, "a": 0}}, log)
    >>> joined.data.columns.tolist(), joined.data.to_numpy().tolist(), joined.target
    (['bm25', 'price'], [[0.5, 9.0], [1.5, 3.0]], array([2., 0.]))
    """
    grade = grade_of_unjudged(unjudged)
    is_clicks = "clicks" in _names_of(rows)
    table: Any = rows if is_clicks else read_judgments(rows, "rows")
    keys = _keys(table, "rows", OF_CLICKS if is_clicks else ("grades",))
    logged = _keys(log, "log", ("data",))
    row_of = {key: row for row, key in enumerate(logged)}
    if is_clicks:
        columns = {name: np.asarray(table[name]) for name in OF_CLICKS}
    else:
        known, queries = set(keys), {query for query, _ in keys}
        added = [key for key in row_of if key[0] in queries and key not in known]
        added = [] if grade is None else added
        keys += added
        columns = {"target": np.append(table["grades"], [grade] * len(added))}
    found = np.array([row_of.get(key, -1) for key in keys], dtype=np.int64)
    is_joined = found >= 0
    if not is_joined.any():
        raise ValueError(
            f"rows and log have nothing in common: rows has {_shown(keys)}, log has "
            f"{_shown(logged)}: name queries and documents alike"
        )
    unlogged = [keys[row] for row in np.flatnonzero(~is_joined)]
    unused = list(row_of.keys() - set(keys))
    what = "shown documents" if is_clicks else "judgements"
    left_out = {f"{what} without features": unlogged}
    if not is_clicks:  # of a long list, users see the first documents only
        left_out["logged documents that are in no row"] = unused
    told = [
        f"{len(left)} {kind}, first {_shown(sorted(left))}"
        for kind, left in left_out.items()
        if left
    ]
    if told:
        warn_caller(f"left out: {'; '.join(told)}")
    names = np.asarray(log["feature_names"])
    data: Any = NamedArray.of(np.asarray(log["data"])[found[is_joined]], names)
    with contextlib.suppress(ImportError):
        import pandas as pd

        data = pd.DataFrame(np.asarray(data), columns=names.tolist())
    return JoinedFeatures(
        data=data,
        feature_names=names,
        groups=np.array([query for query, _ in keys])[is_joined],
        documents=np.array([document for _, document in keys])[is_joined],
        **{name: column[is_joined] for name, column in columns.items()},
        n_unlogged=len(unlogged),
        n_unused=len(unused),
    )


def _names_of(table: Any) -> Collection[Any]:
    """Return the names of columns of a dict or a frame."""
    return table.keys() if is_object(table) else getattr(table, "columns", ())


def _keys(table: Any, argument: str, others: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return query and document of each row of a table with other columns, as text."""
    names = ("groups", "documents", *others)
    if not set(names) <= set(_names_of(table)):
        raise TypeError(
            f"{argument} must be a Bunch or dict of {', '.join(names)}, as a reader "
            f"returns it, got {shown(table)}"
        )
    lengths = {name: len(table[name]) for name in names}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"{argument} has columns of different lengths: {lengths}")
    columns = (read_names(table[name], f"{argument}.{name}") for name in names[:2])
    return list(zip(*columns, strict=True))


def _shown(keys: list[tuple[str, str]]) -> str:
    """Return the first of some keys for a message."""
    query, document = keys[0] if keys else ("", "")
    return f"document {shown(document)} of query {shown(query)}"


# --- responses and hits ---------------------------------------------------------------


def _responses(source: Any, groups: Any) -> Iterator[tuple[str, Record]]:
    """Yield query and response, in their order."""
    found = [
        pair
        for record in read_records(source, "responses")
        for pair in _in_object(record, None)
    ]
    if groups is not None:
        given = read_names(groups, "groups")
        if len(given) != len(found):
            raise ValueError(
                f"groups has {len(given)} values for the {len(found)} responses: give "
                "the query of each"
            )
        found = [(query, one) for query, (_, one) in zip(given, found, strict=True)]
    for query, response in found:
        if query is None:
            raise ValueError(
                f"{response.place} has no query: give a dict of responses by query, a "
                "key 'query' in each response, or groups, the query of each response"
            )
        yield read_name(query, response.place, "the query"), response


def _in_object(record: Record, query: Any) -> Iterator[tuple[Any, Record]]:
    """Yield query and response: the object, those that it holds, or by query."""
    place, value = record.place, as_json(record.value)
    if not is_object(value):
        raise ValueError(f"{place}: {shown(value)} is no response of a search engine")
    names = [key for key, one in value.items() if isinstance(one, str | int)]
    key = column_of(names, "groups", place, "give groups, the query of each response")
    own = value[key[0]] if key else None
    if None not in (own, query) and str(own) != str(query):
        raise ValueError(
            f"{place} is of query {shown(query)} and of {shown(own)}: give one"
        )
    query = query if own is None else own
    root = value.get("root")
    error = value.get("error") or (is_object(root) and root.get("errors"))
    if error and not _listed(value):
        raise ValueError(f"{place} is an error, {shown(error)}: search again")
    if _listed(value) is not None or _logs(value, None):
        yield query, Record(place, value)
    elif "response" in value or "responses" in value:
        held = value.get("response", value.get("responses"))
        for one in members(Record(place, held), "response"):
            yield from _in_object(one, query)
    else:
        for name, held in value.items():
            for one in members(Record(f"{place}, query {shown(name)}", held), "item"):
                yield from _in_object(one, name)


def _listed(response: Mapping[str, Any]) -> Any:
    """Return the hits of a response of any engine; None: it is none."""
    within, root = response.get("response"), response.get("root")
    if is_object(within) and "docs" in within:  # Solr
        return within["docs"]
    if is_object(root):  # Vespa; without children if there are no hits
        return root.get("children", [])
    return hits_of(response)


def _logs(hit: Mapping[str, Any], log: str | None) -> dict[str, Any]:
    """Return the logs of a hit by their names."""
    fields: Any = hit.get("fields") if is_object(hit.get("fields")) else {}
    entries = fields.get("_ltrlog")
    found: dict[str, Any] = {}
    for entry in entries if isinstance(entries, list) else ():
        found |= entry if is_object(entry) else {}
    found |= {name: fields[name] for name in VESPA if name in fields}
    names = SOLR if log is None else (*SOLR, log)
    return found | {name: hit[name] for name in names if name in hit}


def _features(
    hit: Record, log: str | None, asked: list[str] | None
) -> dict[str, float | None]:
    """Return the features of a hit, None if it has no value or is not asked for."""
    logs = _logs(hit.value, log)
    named = ", ".join(map(shown, logs)) or "none"
    if log is None and len(logs) > 1:
        raise ValueError(f"{hit.place} has several logs: give log, one of {named}")
    if not logs or log not in (None, *logs):
        of = "" if log is None else f" {shown(log)}"
        raise ValueError(f"{hit.place} has no log{of} of features, but {named}: {ASK}")
    name = next(iter(logs)) if log is None else log
    features: dict[str, float | None] = {}
    for feature, value in _pairs(logs[name], f"{hit.place}, log {shown(name)}"):
        if feature in NO_FEATURES:
            continue
        if asked is not None and feature not in asked:
            features[feature] = None
            continue
        number = math.nan if value is None else number_of(value)
        if number is None:
            what = f"must be a number, got {shown(value)}"
        elif math.isinf(number):
            what = "is infinite: bound it in the engine"
        elif feature in features:
            what = "is there twice: name the features differently"
        else:
            features[feature] = None if math.isnan(number) else number
            continue
        raise ValueError(f"{hit.place}, feature {shown(feature)} {what}")
    return features


def _pairs(features: Any, place: str) -> Iterator[tuple[str, Any]]:
    """Yield name and value of each feature, in the three forms of the engines."""
    pairs: list[tuple[Any, Any]] = [(None, None)]
    if is_object(features):  # Vespa
        pairs = list(features.items())
    elif isinstance(features, str):  # Solr
        parts = [part.rpartition("=") for part in features.split(",") if features]
        pairs = [(name, value) for name, _, value in parts]
    elif isinstance(features, list):
        held = [one if is_object(one) else {} for one in features]
        pairs = [(one.get("name"), one.get("value")) for one in held]
    for name, value in pairs:
        if not isinstance(name, str) or not name:
            raise ValueError(
                f"{place}: {shown(features)} has a feature without a name: give the "
                "log as the engine wrote it"
            )
        yield name, value


def _document(hit: Record, id_field: str | None) -> str:
    """Return the document of a hit."""
    value = hit.value
    fields, source = value.get("fields"), value.get("_source")
    named: tuple[tuple[Any, str], ...]
    if id_field is None:
        named = ((fields, "documentid"), (value, "_id"), (value, "id"))
    else:
        named = tuple((held, id_field) for held in (source, fields, value))
    for held, name in named:
        found = held.get(name) if is_object(held) else None
        if isinstance(found, list) and len(found) == 1:  # as in fields
            found = found[0]
        if found is not None:
            document = read_name(found, hit.place, f"the document, {name},")
            if id_field is None and document.startswith("index:"):
                raise ValueError(
                    f"{hit.place}: {shown(document)} is Vespa's own name: ask for "
                    "documentid in the summary, or give id_field"
                )
            return document
    names = " or ".join(name for _, name in named) if id_field is None else id_field
    raise ValueError(f"{hit.place} has no {names}: give id_field")
