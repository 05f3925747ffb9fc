"""The model report: its numbers, what it leaves out, and that its text is escaped."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.sparse import csr_matrix
from scipy.stats import sem, spearmanr
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.ensemble import BaggingRanker, BlendedRanker
from sklearn_ltr.inspection import (
    _model_report,
    local_optimality,
    model_report,
    shap_values,
)
from sklearn_ltr.mart import MARTRegressor
from sklearn_ltr.metrics import ERR, MAP, NDCG, Metric
from sklearn_ltr.metrics._metric import METRICS
from sklearn_ltr.scorers import make_ranking_scorer

DATA = make_ranking(60, n_features=12, random_state=0)
X, Y, GROUPS = np.arctan(DATA.data), DATA.target, DATA.groups
TRAIN, TEST = GROUPS < 40, GROUPS >= 40
HELD_OUT = {"X": X[TEST], "y": Y[TEST], "groups": GROUPS[TEST]}
TREES = LambdaMARTRanker(n_estimators=5, random_state=0)
NETWORK = {"max_iter": 2, "hidden_layer_sizes": (3,), "random_state": 0}
MODELS = {
    "trees": TREES,
    "RankNet": RankNetRanker(**NETWORK),
    "LambdaRank": LambdaRankRanker(**NETWORK),
    "bag": BaggingRanker(TREES, n_estimators=2, random_state=0),
    "bag of networks": BaggingRanker(RankNetRanker(**NETWORK), 2, random_state=0),
    "blend": BlendedRanker([TREES, Ridge()], method="sweep", cv=2),
    "three in a blend": BlendedRanker([TREES, Ridge(), Ridge(9)], method="sweep", cv=2),
    "regressor": MARTRegressor(n_estimators=5, random_state=0),
    "pipeline": make_pipeline(StandardScaler(), TREES),
    "search": GridSearchCV(
        make_pipeline(StandardScaler(), RankNetRanker(**NETWORK)),
        {"ranknetranker__sigma": [0.5, 1.0]},
        scoring=make_ranking_scorer("ndcg@10"),
        cv=GroupKFold(2),
    ),
}


class Page(HTMLParser):
    """The headings, texts, tables and tags of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags, self.open, self.headings, self.tables = [], [], [], []
        self.feed(html)
        self.close()
        self.text = " ".join(re.sub(r"<style>.*?</style>|<[^>]*>", " ", html).split())
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in ("img", "meta"):
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")
        if tag in ("h1", "h2", "h3"):
            self.headings.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.tables[-1][-1][-1] += data
        if self.open and self.open[-1] in ("h1", "h2", "h3"):
            self.headings[-1] += data

    def table(self, *header):
        """The rows of the only table with these first cells in its header."""
        found = [t for t in self.tables if t[0][: len(header)] == list(header)]
        assert len(found) == 1, header
        return found[0][1:]

    @property
    def pictures(self):
        return [attrs for tag, attrs in self.tags if tag == "img"]


def fit(model, **more):
    given = {} if isinstance(model, MARTRegressor) else {"groups": GROUPS[TRAIN]}
    with sklearn.config_context(enable_metadata_routing=True):
        return sklearn.clone(model).fit(X[TRAIN], Y[TRAIN], **given, **more)


@pytest.fixture(scope="module")
def trees():
    return fit(TREES)


@pytest.fixture
def no_pictures(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.style", None)


@pytest.mark.parametrize("name", MODELS)
def test_every_model_has_a_report(name):
    pytest.importorskip("matplotlib")
    model = fit(MODELS[name])
    report = model_report(model, **HELD_OUT)
    page = Page(report._repr_html_())
    assert page.pictures
    assert [h for h in page.headings if "None" in h or "nan" in h] == []
    expected = NDCG(10)(Y[TEST], model.predict(X[TEST]), groups=GROUPS[TEST])
    assert report.value == expected
    assert f"{expected:.4f} ±" in page.text
    assert "inspect._empty" not in page.text
    n_explained = page.text.count("A SHAP value is what a feature adds")
    without = ("RankNet", "LambdaRank", "of networks", "lend", "search")
    assert n_explained == (not any(word in name for word in without))
    assert ("no SHAP values of its own" in page.text) == (n_explained == 0)


def test_the_numbers_are_those_of_the_functions(trees, no_pictures):
    report = model_report(trees, **HELD_OUT)
    page = Page(report._repr_html_())
    assert page.pictures == []
    assert page.text.count("Tables only: pictures need matplotlib") == 1
    scores = trees.predict(X[TEST])
    values = NDCG(10).per_query(Y[TEST], scores, groups=GROUPS[TEST])
    labels = np.unique(GROUPS[TEST])
    order = np.argsort(values, kind="stable")
    np.testing.assert_array_equal(report.values, values[order])
    np.testing.assert_array_equal(report.queries, labels[order])
    assert report.standard_error == pytest.approx(sem(values))
    assert repr(report) == (
        "<Model report: LambdaMARTRanker: ndcg@10 "
        f"{values.mean():.4f} ± {sem(values):.4f}; save(path) writes it>"
    )
    (spread,) = page.table("lowest")
    quantiles = np.quantile(values, [0, 0.1, 0.25, 0.5, 0.75, 0.9, 1])
    assert spread == [f"{q:.3f}" for q in quantiles]
    (bars,) = [t for t in page.tables if t[0][0] == "0 to 0.1"]
    assert sum(int(row[2]) for row in bars) == len(values)

    # worst queries, among those with a relevant document
    query = GROUPS[TEST]
    relevant = np.array([(Y[TEST][query == q] > 0).any() for q in labels])
    worst = [q for q in order if relevant[q]][:10]
    rows = page.table("query", "NDCG@10")
    assert [row[0] for row in rows] == [str(labels[q]) for q in worst]
    for row, q in zip(rows, worst, strict=True):
        mine = np.flatnonzero(query == labels[q])
        ranked = Y[TEST][mine[np.lexsort((Y[TEST][mine], -scores[mine]))]]
        assert row[1:] == [
            f"{values[q]:.3f}",
            str(len(ranked)),
            str((ranked > 0).sum()),
            str(np.flatnonzero(ranked > 0)[0] + 1),
            str(np.flatnonzero(ranked == ranked.max())[0] + 1),
        ]
    listed = page.table("rank", "row of X")
    of_worst = np.flatnonzero(query == labels[worst[0]])
    assert {int(row[1]) for row in listed} <= set(of_worst)
    first, best = int(listed[0][1]), None
    (why,) = [h for h in page.headings if h.startswith("Why is row")]
    best = int(why.split()[-1].rstrip("?"))
    assert why == f"Why is row {first} above row {best}?"
    assert Y[TEST][best] == Y[TEST][of_worst].max()
    explained = shap_values(trees, X[TEST])
    difference = explained.difference(first, best)
    for row in page.table("feature", f"row {first}"):
        j = explained.feature_names.index(row[0])
        assert row[3] == f"{difference[j]:+.4g}"
        assert row[1] == f"{X[TEST][first, j]:.4g}"

    # importances, SHAP values
    for name, share in page.table("feature", "share of the gain of all splits"):
        j = explained.feature_names.index(name)
        assert share == f"{trees.feature_importances_[j]:.4g}"
    centred = explained.values.copy()
    for q in labels:
        centred[query == q] -= centred[query == q].mean(axis=0)
    rows = page.table("feature", "mean |SHAP value|")
    assert len(rows) == X.shape[1]
    for name, effect, correlation in rows:
        j = explained.feature_names.index(name)
        assert effect == f"{np.abs(centred[:, j]).mean():.4g}"
        if np.ptp(explained.values[:, j]) == 0:
            assert correlation == "constant"
            continue
        expected = spearmanr(X[TEST][:, j], explained.values[:, j]).statistic
        assert float(correlation) == pytest.approx(expected, abs=0.006)

    # parameters and data
    assert page.table("parameter") == [
        ["n_estimators", "5", "100"], ["random_state", "0", "None"],
    ]  # fmt: skip
    assert ["trees", "5"] in page.table("part")
    grades, counts = np.unique(Y[TEST], return_counts=True)
    assert [row[:2] for row in page.table("grade", "documents")] == [
        [f"{grade:g}", f"{count:,}"]
        for grade, count in zip(grades, counts, strict=True)
    ]
    for name, missing, low, median, high in page.table("column"):
        column = X[TEST][:, int(name[1:])]
        assert missing == "0.0%"
        stats = column.min(), np.median(column), column.max()
        assert [low, median, high] == [f"{v:.4g}" for v in stats]


@pytest.mark.parametrize("pictures", [True, False])
def test_text_of_the_data_is_escaped(pictures, tmp_path, request):
    pd = pytest.importorskip("pandas")
    if pictures:
        pytest.importorskip("matplotlib")
    else:
        request.getfixturevalue("no_pictures")
    bad = "<script>alert('a & b')</script>"
    frame = pd.DataFrame(X).add_prefix("x <").rename(columns={"x <0": bad})
    names = ["<i>", '"', None]
    frame["kind & sort"] = pd.Categorical.from_codes(np.arange(len(X)) % 2, names[:2])
    groups = np.char.add(f"{bad} ", GROUPS.astype(str))
    ranker = LambdaMARTRanker(n_estimators=3, random_state=0, init=None)
    ranker.fit(frame[TRAIN], Y[TRAIN], groups=groups[TRAIN])
    report = model_report(ranker, frame[TEST], Y[TEST], groups=groups[TEST])
    report.save(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<script" not in text
    assert "<i>" not in text.replace("<i style", "")
    page = Page(text)
    assert bad in {row[0] for row in page.table("column", "missing", "lowest")}
    assert page.table("column", "missing", "categories")[0][0] == "kind & sort"
    assert {row[0] for row in page.table("query")} <= set(groups)
    assert not re.search(r"(?:href|src)=\"(?!data:)", text)  # one file, and no other
    assert text.startswith("<!doctype html>")


def test_the_same_call_makes_the_same_file(trees, tmp_path):
    pytest.importorskip("matplotlib")
    import matplotlib.pyplot as plt

    figures = plt.get_fignums()
    one = model_report(trees, **HELD_OUT)
    with plt.style.context("dark_background"):
        other = model_report(trees, **HELD_OUT)
    assert one._repr_html_() == other._repr_html_()
    assert plt.get_fignums() == figures


def test_a_callable_and_an_object_have_no_address():
    ranker = LambdaMARTRanker(
        n_estimators=2, learning_rate=lambda m: 0.1, init=Ridge(), random_state=0
    )
    rng = np.random.RandomState(0)
    ranker = fit(ranker.set_params(random_state=rng))
    page = Page(model_report(ranker, **HELD_OUT)._repr_html_())
    shown = {row[0]: row[1] for row in page.table("parameter")}
    assert shown["init"] == "Ridge()"
    assert shown["random_state"] == "RandomState(MT19937)"
    assert shown["learning_rate"].endswith("<lambda>")
    assert "0x" not in re.sub(r"base64,\S*", "", model_report(ranker, **HELD_OUT)._html)


def test_queries_of_a_large_sample_are_drawn_with_a_seed(trees, monkeypatch):
    monkeypatch.setattr(_model_report, "MOST_EXPLAINED", 60)
    monkeypatch.setitem(sys.modules, "matplotlib.style", None)
    pages = {
        seed: Page(model_report(trees, **HELD_OUT, random_state=seed)._html)
        for seed in (0, 1)
    }
    found = [
        re.search(r"Of (\d+) documents of (\d+) quer", p.text) for p in pages.values()
    ]
    assert all(int(f[1]) <= 60 and int(f[2]) >= 1 for f in found)
    tables = [page.table("feature", "mean |SHAP value|") for page in pages.values()]
    assert tables[0] != tables[1]
    assert tables[0] == Page(model_report(trees, **HELD_OUT)._html).table(
        "feature", "mean |SHAP value|"
    )


def test_sparse_rows_have_the_report_of_dense_ones(trees, no_pictures):
    sparse = csr_matrix(X[TEST])
    dense = model_report(trees, **HELD_OUT)
    assert model_report(trees, **HELD_OUT | {"X": sparse})._html == dense._html
    frame = pytest.importorskip("polars").DataFrame(X[TEST])
    fitted = fit(TREES)
    assert (
        model_report(fitted, **HELD_OUT | {"X": frame.to_numpy()})._html == dense._html
    )


def test_the_order_of_the_rows_changes_no_number(trees, no_pictures):
    order = np.random.default_rng(0).permutation(TEST.sum())
    shuffled = {name: column[order] for name, column in HELD_OUT.items()}
    pages = [Page(model_report(trees, **given)._html) for given in (HELD_OUT, shuffled)]
    for header in ("query", "lowest", "grade", "column", "parameter"):
        tables = [page.table(header) for page in pages]
        assert tables[0] == tables[1]


def test_rows_have_the_names_of_a_frame(trees, no_pictures):
    names = [f"d{row}x" for row in range(len(X))]
    frame = pd.DataFrame(X, index=names)[TEST]
    by_row = Page(model_report(trees, **HELD_OUT)._repr_html_())
    by_name = Page(model_report(trees, **HELD_OUT | {"X": frame})._repr_html_())
    (rows,) = (table for table in by_row.tables if "row of X" in table[0])
    (named,) = (table for table in by_name.tables if "row of X" in table[0])
    kept = frame.index
    assert [line[1] for line in named[1:]] == [kept[int(line[1])] for line in rows[1:]]
    assert any(re.match("Why is row d.*x above row d.*x", h) for h in by_name.headings)


def test_training_queries_are_recognised(trees):
    words = "These are the queries that the model was fitted to"
    assert words not in model_report(trees, **HELD_OUT)._html
    report = model_report(trees, X[TRAIN], Y[TRAIN], groups=GROUPS[TRAIN])
    assert words in report._html


@pytest.mark.parametrize(
    "metric", [*sorted(METRICS), MAP(5), ERR(), NDCG(3, no_relevant="skip")], ids=str
)
def test_the_curve_of_every_metric_is_drawn(trees, metric):
    pytest.importorskip("matplotlib")
    subject = _model_report.Subject(trees, *HELD_OUT.values(), metric, None)
    assert _model_report.cutoff_curve(subject).startswith("<img")


def test_curves_of_validation_data_and_of_none():
    val = {"X_val": X[TEST], "y_val": Y[TEST], "groups_val": GROUPS[TEST]}
    ranker = fit(TREES, **val)
    page = Page(model_report(ranker, **HELD_OUT)._html)
    rows = page.table("set, measure", "tree 0", "tree 5")
    curve = ranker.evals_result_["validation"]["ndcg@10"]
    kept = curve[ranker.n_iter_]
    expected = [f"{curve[step]:.4f}" for step in (0, -1)] + [f"{kept:.4f}"]
    assert ["validation, NDCG@10", *expected] in rows
    none = Page(model_report(fit(TREES), **HELD_OUT)._html)
    assert "LambdaMARTRanker has recorded no scores in its training: give" in none.text
    bag = Page(model_report(fit(MODELS["bag"]), **HELD_OUT)._html)
    assert "BaggingRanker records no scores of rankings in its training." in bag.text


def test_weights_and_queries_left_out():
    ranker, weights = fit(TREES), np.where(HELD_OUT["groups"] == 45, 0.0, 1.0)
    report = model_report(
        ranker, **HELD_OUT, sample_weight=weights, metric=NDCG(no_relevant="skip")
    )
    scores = ranker.predict(X[TEST])
    metric = NDCG(no_relevant="skip")
    expected = metric(Y[TEST], scores, groups=GROUPS[TEST], sample_weight=weights)
    assert report.value == pytest.approx(expected, rel=1e-12)
    page = Page(report._html)
    assert "left out: no weight, or no value" in page.text
    assert "45" not in [row[0] for row in page.table("query")]


def test_one_query_and_nothing_relevant(trees):
    one = GROUPS == 41
    report = model_report(trees, X[one], Y[one], groups=GROUPS[one])
    assert np.isnan(report.standard_error)
    assert "nan" not in Page(report._html).text
    report = model_report(trees, X[one], np.zeros(one.sum()), groups=GROUPS[one])
    assert "No query has a relevant document." in report._html


def test_a_position_bias_and_many_grades():
    places = np.concatenate([np.arange(n) for n in np.bincount(GROUPS[TRAIN])])
    for method in ("additive", "pairwise"):
        ranker = sklearn.clone(TREES).set_params(position_bias=method)
        ranker.fit(X[TRAIN], Y[TRAIN], groups=GROUPS[TRAIN], positions=places)
        y = Y[TEST] + 0.01 * np.arange(TEST.sum())
        report = model_report(ranker, X[TEST], y, groups=GROUPS[TEST])
        page = Page(report._html)
        assert "Position bias learned from clicks" in page.headings
        assert page.table("", "lowest")[0][0] == "grade"


class Own(Metric):
    """A metric of the user."""

    def value(self, ranked_grades):
        return float(ranked_grades[0] > 0)


def test_a_metric_of_the_user(trees):
    report = model_report(trees, **HELD_OUT, metric=Own())
    assert report.metric == Own()
    assert "Own of each query" in Page(report._html).headings


class OfBest(Metric):
    """A metric of the user with an `__init__` of its own."""

    def __init__(self, n):
        self.n = n

    def value(self, ranked_grades):
        return float(ranked_grades[: self.n].max() == ranked_grades.max())


def test_a_metric_with_an_init_of_its_own_is_reported():
    ranker = sklearn.clone(TREES).set_params(metric=OfBest(2))
    report = model_report(fit(ranker), **HELD_OUT)
    assert report.metric == OfBest(2) != OfBest(5)
    assert "OfBest of each query" in Page(report._html).headings


def test_of_a_metric_for_each_label_one_is_asked_for():
    both = np.c_[Y, Y[::-1]]
    ranker = sklearn.clone(TREES).set_params(metric=["ndcg@10", "map"])
    ranker.fit(X[TRAIN], both[TRAIN], groups=GROUPS[TRAIN])
    message = "the LambdaMARTRanker has a metric for each label, ['ndcg@10', 'map']: g"
    with pytest.raises(ValueError, match=re.escape(message)):
        model_report(ranker, **HELD_OUT)
    assert model_report(ranker, **HELD_OUT, metric="map").metric == MAP()
    network = LambdaRankRanker(["ndcg@10", "map"], **NETWORK)
    network.fit(X[TRAIN], both[TRAIN], groups=GROUPS[TRAIN])
    message = "the LambdaRankRanker has a metric for each label"
    with pytest.raises(ValueError, match=message):
        local_optimality(network, **HELD_OUT)


def test_queries_and_columns_that_are_tuples(trees, no_pictures):
    pd = pytest.importorskip("pandas")
    pairs = list(zip(GROUPS[TEST].tolist(), "a" * TEST.sum(), strict=True))
    report = model_report(trees, X[TEST], Y[TEST], groups=pairs)
    assert set(map(tuple, report.queries)) == set(pairs)
    columns = pd.MultiIndex.from_product([["x"], range(X.shape[1])])
    frame = pd.DataFrame(X[TEST], columns=columns)
    report = model_report(trees, frame, Y[TEST], groups=GROUPS[TEST])
    assert Page(report._html).table("column")[0][0].startswith("x")


def test_trees_that_cannot_be_explained_say_why(no_pictures):
    bag = BaggingRanker(
        sklearn.clone(TREES).set_params(init=Ridge()), 2, random_state=0
    )
    page = Page(model_report(fit(bag), **HELD_OUT)._html)
    assert "Left out: estimators_[0] adds trees to a base model (init)" in page.text
    assert page.table("feature", "share of the gain of all splits")


def test_missing_values_and_columns_without_any(no_pictures):
    holes = X.copy()
    holes[::2, 0], holes[:, 1] = np.nan, np.nan
    ranker = sklearn.clone(TREES).fit(holes[TRAIN], Y[TRAIN], groups=GROUPS[TRAIN])
    report = model_report(ranker, holes[TEST], Y[TEST], groups=GROUPS[TEST])
    rows = {row[0]: row[1:] for row in Page(report._html).table("column")}
    assert rows["x1"] == ["100.0%", "", "", ""]
    assert rows["x0"][0] == f"{np.isnan(holes[TEST, 0]).mean():.1%}"


def test_what_cannot_be_reported_is_refused(trees, tmp_path):
    refused = [
        ({"metric": "auc"}, ValueError, "unknown metric 'auc'"),
        ({"groups": None}, ValueError, "groups is None"),
        ({"groups": GROUPS}, ValueError, "groups has"),
        ({"y": None}, ValueError, "y is None"),
        ({"y": -Y[TEST] - 1}, ValueError, "y must hold"),
        ({"X": X}, ValueError, "what LambdaMARTRanker predicts"),
        ({"X": X[TEST][:, 1:]}, ValueError, "11 features"),
        ({"sample_weight": -Y[TEST]}, ValueError, "sample_weight"),
        ({"X_reference": X[:, 1:]}, ValueError, "X_reference has the columns 'x0', "),
        ({"X_reference": X[0]}, ValueError, "X_reference must be a table with a row"),
        ({"X_reference": X[:0]}, ValueError, "X_reference is empty"),
    ]
    for given, error, message in refused:
        with pytest.raises(error, match=re.escape(message)):
            model_report(trees, **HELD_OUT | given)
    with pytest.raises(sklearn.exceptions.NotFittedError):
        model_report(TREES, **HELD_OUT)
    with pytest.raises(OSError, match="nowhere"):
        model_report(trees, **HELD_OUT).save(tmp_path / "nowhere" / "report.html")
