"""Join a run with judgements: the arguments of the metric functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from sklearn_ltr._data import QueryGroups, check_scores, read_numbers
from sklearn_ltr.datasets._documents import Name, read_names

Judgements = dict[tuple[Name, Name], float]

OPTIONS = {
    "topics": ("qrels", "both"),
    "unjudged": ("zero", "drop"),
    "negative": ("error", "unjudged"),
}


def join_run(
    run: Mapping[str, Any],
    qrels: Mapping[str, Any],
    *,
    topics: Literal["qrels", "both"] = "qrels",
    unjudged: Literal["zero", "drop"] = "zero",
    negative: Literal["error", "unjudged"] = "error",
) -> Bunch:
    """Join ranked lists with relevance judgements, for the metrics.

    What is returned are arguments by name: ``ndcg_score(**join_run(run, qrels))``.

    Parameters
    ----------
    run : Bunch, dict or pandas.DataFrame
        ``groups``, ``documents`` and ``scores`` of the retrieved documents, as
        :func:`load_run` returns them; names are strings or integers.
    qrels : Bunch, dict or pandas.DataFrame
        ``groups``, ``documents`` and ``grades`` of the judged documents, as
        :func:`load_qrels` returns them.
    topics : {"qrels", "both"}, default="qrels"
        Topics that count: all that have judgements, those without a line in the run
        as lists of no documents, of value 0 (``trec_eval -c``); or those in both
        (trec_eval without ``-c``).  Topics without judgements never count.
    unjudged : {"zero", "drop"}, default="zero"
        Retrieved documents without a judgement: have grade 0, as in trec_eval; or are
        taken out of the lists, those below move up.  :class:`~sklearn_ltr.metrics.\
BPref` needs "drop".
    negative : {"error", "unjudged"}, default="error"
        Documents of a grade below zero (spam, in some collections): raise an error; or
        count as if they had no judgement, as in trec_eval.

    Returns
    -------
    Bunch
        ``y_true``, ``y_score`` : (n_rows,) float64, and ``groups`` : (n_rows,), of the
        retrieved documents.  Equal scores are ordered by document, the last name
        first, so that ``ties="stable"`` is the order of trec_eval (which compares
        scores in single precision).
        ``y_missing`` : (n_missing,) float64, and ``groups_missing`` : (n_missing,), of
        the judged documents that were not retrieved.

    Raises
    ------
    ValueError
        If the arguments are not as described, no topic of the run has judgements (or
        no document, with ``unjudged="drop"``), or a grade is negative.
    TypeError
        If a name is neither a string nor an integer, or names are strings in one of
        both and integers in the other.

    Examples
    --------
    >>> from sklearn_ltr.datasets import join_run
    >>> from sklearn_ltr.metrics import map_score
    >>> run = {"groups": [7, 7], "documents": ["a", "x"], "scores": [0.9, 0.4]}
    >>> qrels = {"groups": [7, 7], "documents": ["a", "b"], "grades": [1, 1]}
    >>> map_score(**join_run(run, qrels))
    0.5
    """
    given = {"topics": topics, "unjudged": unjudged, "negative": negative}
    for name, value in given.items():
        if not isinstance(value, str) or value not in OPTIONS[name]:
            raise ValueError(f"{name} must be one of {OPTIONS[name]}, got {value!r}")
    retrieved, scores = _read_run(run)
    judgements = _read_qrels(qrels)
    _check_same_types(retrieved[0], next(iter(judgements)))
    counted = {topic for topic, _ in judgements}
    common = counted & {topic for topic, _ in retrieved}
    if not common:
        raise ValueError(
            f"run and qrels have no topic in common: run.groups has "
            f"{retrieved[0][0]!r}, qrels.groups has {next(iter(judgements))[0]!r}"
        )
    if topics == "both":
        counted = common
    judgements = _without_negative(judgements, negative)
    rows = [
        row
        for row, key in enumerate(retrieved)
        if key[0] in counted and (unjudged == "zero" or key in judgements)
    ]
    if not rows:
        raise ValueError(
            'run has no judged document: unjudged="drop" leaves nothing; check that '
            f"run.documents, such as {retrieved[0][1]!r}, and qrels.documents, such as "
            f"{next(iter(judgements), ('', 'none'))[1]!r}, name documents alike"
        )
    rows.sort(key=lambda row: str(retrieved[row][1]), reverse=True)
    rows.sort(key=lambda row: -scores[row])
    missing = {key: grade for key, grade in judgements.items() if key[0] in counted}
    for key in retrieved:
        missing.pop(key, None)
    groups_missing = [topic for topic, _ in missing]
    # A topic of negative grades only has nothing relevant, but counts.
    left = sorted(counted - {retrieved[row][0] for row in rows}.union(groups_missing))
    return Bunch(
        y_true=np.array([judgements.get(retrieved[row], 0.0) for row in rows]),
        y_score=scores[rows],
        groups=np.array([retrieved[row][0] for row in rows]),
        y_missing=np.array([*missing.values()] + [0.0] * len(left)),
        groups_missing=np.array(groups_missing + left),
    )


def _read_run(
    run: Mapping[str, Any],
) -> tuple[list[tuple[Name, Name]], NDArray[np.float64]]:
    """Return topic and document of each row, and the scores."""
    _check_has(run, "run", ("groups", "documents", "scores"))
    topics, documents = read_names(run["groups"], run["documents"], "run.")
    queries = QueryGroups.from_groups(topics, len(topics))
    scores = queries.unsort(check_scores(run["scores"], queries, "run.scores"))
    return list(zip(topics, documents, strict=True)), scores


def _read_qrels(qrels: Mapping[str, Any]) -> Judgements:
    """Return the grade of each topic and document."""
    _check_has(qrels, "qrels", ("groups", "documents", "grades"))
    topics, documents = read_names(qrels["groups"], qrels["documents"], "qrels.")
    grades = read_numbers(qrels["grades"], len(topics), "qrels.grades")
    if not np.isfinite(grades).all():
        row = int(np.argmin(np.isfinite(grades)))
        raise ValueError(
            f"qrels.grades must be finite, but row {row} (query {topics[row]!r}) has "
            f"{grades[row]}"
        )
    return dict(zip(zip(topics, documents, strict=True), grades.tolist(), strict=True))


def _without_negative(judgements: Judgements, negative: str) -> Judgements:
    """Leave out judgements below zero, or raise a ValueError that names the first."""
    if negative == "error":
        for (topic, document), grade in judgements.items():
            if grade < 0:
                raise ValueError(
                    f"qrels.grades has the negative grade {grade:g} (document "
                    f'{document!r} of query {topic!r}): give negative="unjudged" to '
                    "count such documents as not judged, as trec_eval does, or "
                    "np.maximum(qrels.grades, 0) to count them as judged not relevant"
                )
    return {key: grade for key, grade in judgements.items() if grade >= 0}


def _check_same_types(one: tuple[Name, Name], other: tuple[Name, Name]) -> None:
    """Raise a TypeError if run and judgements name things by other types."""
    for column, a, b in zip(("groups", "documents"), one, other, strict=True):
        if isinstance(a, str) != isinstance(b, str):
            raise TypeError(
                f"run.{column} has names such as {a!r} and qrels.{column} such as "
                f"{b!r}: give strings in both, or integers"
            )


def _check_has(values: Any, name: str, columns: tuple[str, ...]) -> None:
    """Raise a TypeError or ValueError unless a mapping has its columns."""
    if not hasattr(values, "keys"):  # as Bunch, dict and the frames of pandas have
        raise TypeError(
            f"{name} must be a Bunch, dict or frame of {', '.join(columns)}, got "
            f"{type(values).__name__}"
        )
    for column in columns:
        if column not in values:
            raise ValueError(f"{name} has no {column!r}; it needs {', '.join(columns)}")
