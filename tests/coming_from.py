"""The tables of the pages "Coming from ..." of the documentation."""

from __future__ import annotations

from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs" / "coming_from"


def text(page: str) -> str:
    """Return the source of a page."""
    return (DOCS / f"{page}.md").read_text(encoding="utf-8")


def rows(page: str) -> list[list[str]]:
    """Return the cells of the table of a page, without its head."""
    lines = [line for line in text(page).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line[1:-1].split("|")] for line in lines[2:]]
