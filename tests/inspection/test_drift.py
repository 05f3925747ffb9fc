"""Drift: the index is that of its formula, and what moved is what was moved."""

from __future__ import annotations

import math
import sys
from collections import Counter

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix
from scipy.stats import entropy

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.inspection import model_report
from sklearn_ltr.inspection._drift import drift_of_columns, drift_of_numbers
from tests.inspection.test_model_report import Page

DATA = make_ranking(60, n_features=6, n_informative=4, random_state=0)
X, Y, GROUPS = np.arctan(DATA.data), DATA.target, DATA.groups
TRAIN, TEST = GROUPS < 40, GROUPS >= 40
NEW = {"y": Y[TEST], "groups": GROUPS[TEST]}


@pytest.fixture(scope="module")
def ranker():
    model = LambdaMARTRanker(n_estimators=10, random_state=0)
    return model.fit(X[TRAIN], Y[TRAIN], groups=GROUPS[TRAIN])


def psi(before, now):
    """The formula of the docstring, for two lists of the bins of rows."""
    bins = {*before, *now}
    n, m = Counter(before), Counter(now)
    total = 0.0
    for b in bins:
        p = (n[b] + 0.5) / (len(before) + len(bins) / 2)
        q = (m[b] + 0.5) / (len(now) + len(bins) / 2)
        total += (q - p) * math.log(q / p)
    return total


# --- the index --------------------------------------------------------------------


def test_numbers_are_in_bins_of_equal_population_of_the_reference():
    rng = np.random.default_rng(0)
    before, now = rng.normal(size=1000), rng.normal(0.5, 2, size=300)
    before[:50], now[:90] = np.nan, np.nan
    known = np.sort(before[50:])
    ends = [(known[95 * k - 1] + known[95 * k]) / 2 for k in range(1, 10)]

    def bin_of(x):
        return "missing" if np.isnan(x) else sum(x > end for end in ends)

    found = drift_of_numbers(before, now)
    assert found.psi == pytest.approx(psi([*map(bin_of, before)], [*map(bin_of, now)]))
    assert_array_equal(found.before, [95] * 10 + [50])
    assert found.bins[0] == f"up to {ends[0]:.4g}"
    assert found.bins[1] == f"{ends[0]:.4g} to {ends[1]:.4g}"
    assert found.bins[-2:] == [f"above {ends[-1]:.4g}", "missing"]


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ([0, 0, 1, 1, 2], [0, 2, 2]),
        ([3.0, 3.0], [3.0]),
        ([3.0, np.nan], [3.0, 3.0, 3.0]),
        ([np.nan, np.nan], [1.0, 2.0]),
        ([0, 1] * 50, [5] * 10),  # above all thresholds: in the bin of 1
    ],
)
def test_few_distinct_numbers_have_a_bin_each(before, now):
    def bins(numbers):
        largest = np.nanmax([*before, -np.inf])
        if not np.isfinite(largest):
            return ["missing" if np.isnan(x) else "a number" for x in numbers]
        return ["missing" if np.isnan(x) else min(x, largest) for x in numbers]

    found = drift_of_numbers(np.array(before, float), np.array(now, float))
    assert found.psi == pytest.approx(psi(bins(before), bins(now)), abs=1e-15)
    assert len(found.bins) == len({*bins(before), *bins(now)})


def test_the_index_is_the_divergence_in_both_directions():
    rng = np.random.default_rng(1)
    before, now = rng.integers(0, 5, 400), rng.integers(0, 4, 300)
    p, q = (np.bincount(x, minlength=5) + 0.5 for x in (before, now))
    found = drift_of_numbers(before.astype(float), now.astype(float))
    assert found.psi == pytest.approx(entropy(p, q) + entropy(q, p))


def test_without_drift_95_of_100_samples_are_below_what_chance_does():
    rng = np.random.default_rng(2)
    for draw in (rng.normal, lambda size: rng.integers(0, 6, size).astype(float)):
        drifts = [drift_of_numbers(draw(size=500), draw(size=800)) for _ in range(600)]
        below = [drift.psi < drift.by_chance for drift in drifts]
        # 0.027 is three standard errors of the share in 600 draws
        assert np.mean(below) == pytest.approx(0.95, abs=0.027)


def test_rare_and_unseen_categories_share_bins():
    pandas = pytest.importorskip("pandas")
    before = [f"c{i}" for i in range(12) for _ in range(20 - i)] + [None] * 7
    now = ["c0"] * 30 + ["c11"] * 4 + ["new", "newer"] + [None]
    frames = [
        pandas.DataFrame({"site": pandas.Series(column, dtype=dtype)})
        for column in (before, now)
        for dtype in ("category",)
    ]
    found = drift_of_columns(*frames)["site"]

    def bin_of(label):
        if label is None:
            return "missing"
        if label.startswith("new"):
            return "not in the reference"
        return "other categories" if label in ("c10", "c11") else label

    assert found.psi == pytest.approx(psi([*map(bin_of, before)], [*map(bin_of, now)]))
    assert found.bins == [
        *(f"c{i}" for i in range(10)),
        "other categories", "not in the reference", "missing",
    ]  # fmt: skip
    assert_array_equal(found.now[-3:], [4, 2, 1])
    texts = [frame.astype(object) for frame in frames]
    assert drift_of_columns(*texts)["site"].psi == found.psi


# --- the report -------------------------------------------------------------------


def test_the_column_that_was_moved_has_moved_most(ranker):
    moved = X[TEST].copy()
    j = int(np.argmax(ranker.feature_importances_))
    moved[:, j] += 3.0
    report = model_report(ranker, moved, **NEW, X_reference=X[TRAIN])
    expected = {
        f"x{k}": drift_of_numbers(X[TRAIN][:, k], moved[:, k]).psi for k in range(6)
    }
    assert report.column_drift == expected
    assert max(expected, key=expected.get) == f"x{j}"
    before, now = ranker.predict(X[TRAIN]), ranker.predict(moved)
    scores = drift_of_numbers(before, now)
    assert report.score_drift == scores.psi > 0.1
    page = Page(report._repr_html_())
    assert "Drift" in page.headings
    assert f"Shares of x{j}, which has moved most" in page.headings
    rows = page.table("column", "PSI")
    assert rows[0] == [
        "the scores", f"{scores.psi:.4f}", f"{scores.by_chance:.4f}", "yes",
    ]  # fmt: skip
    order = sorted(expected, key=lambda name: -expected[name])
    assert [row[:2] for row in rows[1:]] == [[n, f"{expected[n]:.4f}"] for n in order]
    of_scores, of_column = (
        t for t in page.tables if t[0] == ["bin", "reference", "now"]
    )
    assert [row[1] for row in of_scores[1:]] == [
        f"{n / len(before):.1%}" for n in scores.before
    ]
    column = drift_of_numbers(X[TRAIN][:, j], moved[:, j])
    assert [row[2] for row in of_column[1:]] == [
        f"{n / len(now):.1%}" for n in column.now
    ]


def test_the_same_table_has_not_moved_and_none_is_not_reported(ranker):
    report = model_report(ranker, X[TEST], **NEW, X_reference=X[TEST])
    assert set(report.column_drift.values()) == {0.0}
    assert report.score_drift == 0
    without = model_report(ranker, X[TEST], **NEW)
    assert without.column_drift is without.score_drift is None
    assert "Drift" not in Page(without._html).headings


def test_order_of_rows_and_kind_of_table_do_not_matter(ranker, monkeypatch):
    for name in ("matplotlib", "matplotlib.style"):  # pictures take long
        monkeypatch.setitem(sys.modules, name, None)
    pandas = pytest.importorskip("pandas")
    given = {"X": X[TEST], **NEW}
    expected = model_report(ranker, **given, X_reference=X[TRAIN]).column_drift
    shuffled = np.random.default_rng(0).permutation(X[TRAIN])
    for table in (shuffled, csr_matrix(X[TRAIN]), X[TRAIN].tolist()):
        assert model_report(ranker, **given, X_reference=table).column_drift == expected
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    model = LambdaMARTRanker(n_estimators=2, random_state=0)
    model.fit(frame[TRAIN], Y[TRAIN], groups=GROUPS[TRAIN])
    found = model_report(model, frame[TEST], **NEW, X_reference=frame[TRAIN])
    assert_allclose([*found.column_drift.values()], [*expected.values()])
    assert [*found.column_drift] == list("abcdef")


def test_other_columns_are_refused():
    pandas = pytest.importorskip("pandas")
    one = pandas.DataFrame({"a": [1.0, 2.0], "b": [1, 2]})
    for other, message in (
        (one[["b", "a"]], "X_reference has the columns 'b', 'a', but X has 'a', 'b'"),
        (one[["a"]], "X_reference has the columns 'a', but X has 'a', 'b'"),
        (one.astype({"b": "category"}), "column 'b' holds numbers in one of"),
    ):
        with pytest.raises(ValueError, match=message):
            drift_of_columns(other, one)
