"""What the pages of the documentation name exists."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import sklearn_ltr
from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
from tests.test_public_surface import PUBLIC

DOCS = Path(__file__).resolve().parents[1] / "docs"
RANKERS = (LambdaMARTRanker, LambdaRankRanker, RankNetRanker)
ATTRIBUTES = {"apply", "evals_result_", "feature_importances_"}
KEYWORD = re.compile(r"\b([A-Za-z_][A-Za-z_0-9]*)=")


def known_names() -> set[str]:
    """Return the arguments of rankers, of `fit` and of metric objects."""
    signatures = [function for ranker in RANKERS for function in (ranker, ranker.fit)]
    signatures += [sklearn_ltr.metrics.NDCG, sklearn_ltr.metrics.ERR]
    return {
        name
        for function in signatures
        for name in inspect.signature(function).parameters
    }


def rows(page: Path) -> list[list[str]]:
    """Return the cells of the tables of a page."""
    lines = page.read_text(encoding="utf-8").splitlines()
    cells = [line[1:-1].split(" | ") for line in lines if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in cells if "---" not in row[0]]


@pytest.mark.parametrize(
    "page", sorted((DOCS / "coming_from").glob("*.md")), ids=lambda page: page.stem
)
def test_what_replaces_the_parameter_of_a_peer_exists(page):
    known = known_names()
    for _, ours in rows(page):
        for code in re.findall(r"`([^`]*)`", ours):
            names = KEYWORD.findall(code) or re.findall(r"^([a-z_]+)$", code)
            assert set(names) <= known | ATTRIBUTES, ours


def test_the_reference_lists_every_public_name():
    text = (DOCS / "api.md").read_text(encoding="utf-8")
    sections = text.split("currentmodule:: ")[1:]
    listed = {}
    for section in sections:
        module = section.split("\n", 1)[0]
        listed[module] = re.findall(r"^   ([A-Za-z_]+)$", section, flags=re.M)
    for module, names in PUBLIC.items():
        if module != "sklearn_ltr.rankers":  # whose names are those of sklearn_ltr
            assert listed.pop(module) == sorted(names), module
    assert listed == {}
