"""Every cell of the table "What works where" of the README is executed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.peers.offers import Row, beyond, estimators, queries, searches, training
from tests.peers.offers.libraries import LIBRARIES

pytestmark = [
    # LightGBM before 4.6 beside scikit-learn from 1.6 on
    pytest.mark.filterwarnings("ignore:'force_all_finite' was renamed:FutureWarning"),
    pytest.mark.filterwarnings("ignore:The .* use `_get_tags`:FutureWarning"),
    # LightGBM from 4.7 on: another spelling is coming
    pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated"),
]

README = Path(__file__).resolve().parents[2] / "README.md"
ROWS = [
    row
    for module in (queries, searches, estimators, training, beyond)
    for row in vars(module).values()
    if isinstance(row, Row)
]
CELLS = [
    pytest.param(row, library, id=f"{library.name}: {row.feature}")
    for row in ROWS
    for library in LIBRARIES
]


def table(heading: str) -> list[list[str]]:
    """Return the cells of the first table below a heading of the README."""
    _, _, below = README.read_text(encoding="utf-8").partition(f"\n## {heading}\n")
    section, _, _ = below.partition("\n## ")
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line[1:-1].split("|")] for line in lines]


def test_the_table_of_the_readme_has_these_rows():
    head, _, *rows = table("What works where")
    assert head == ["", *(library.name for library in LIBRARIES)]
    assert rows == [
        [row.feature, *(row.cell(library) for library in LIBRARIES)] for row in ROWS
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("row", "library"), CELLS)
def test_a_library_has_the_feature_or_raises_the_error(row, library):
    pytest.importorskip(library.module)
    if library.name not in row.errors:
        row.check(library)
        return
    with pytest.raises(Exception, match=row.errors[library.name]):
        row.check(library)
    if library.name in row.workarounds:
        _, check = row.workarounds[library.name]
        check(library)
