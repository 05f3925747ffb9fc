"""Every cell of the table "What works where" of the documentation is executed."""

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

PAGE = Path(__file__).resolve().parents[2] / "docs" / "what_works_where.md"
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


def table() -> list[list[str]]:
    """Return the cells of the page's table."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if line.startswith("|")]
    return [[cell.strip() for cell in row[1:-1].split("|")] for row in rows]


def test_the_table_has_these_rows():
    head, _, *rows = table()
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
