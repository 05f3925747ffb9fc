"""The examples run, what they say is so, and no grade leaks into their search data."""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
import os
import runpy
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from xml.etree import ElementTree

import distributed
import joblib
import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import sklearn
from scipy.stats import sem

from sklearn_ltr import LambdaMARTRanker, datasets
from sklearn_ltr._core.compile import INTERPRETED
from sklearn_ltr.metrics import NDCG
from tests.docs.installation import extras_of, imports, modules_of, only

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
N_QUERIES = 300


@pytest.fixture(scope="module")
def python_docs():
    """The module that makes the search data of the examples, beside them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(EXAMPLES)
        yield importlib.import_module("python_docs")
        del sys.modules["python_docs"]


# A library of two modules, written by hand


SHELF = '''
"""Shelve things by name."""
class Shelf:
    """Keep things by their names. A second sentence.

    More about shelves.
    """
    def put(self, thing, *, name):
        """Put a thing on the shelf under its name."""
        self.things[name] = thing
    def _sort(self): "Bring all the things in order."
    def __len__(self): "Count the things of a shelf."
class Rack:
    """Hold many shelves, one above the other."""
    def put(self, shelf):
        """Put a shelf into the rack, at the top."""
if True:
    async def dust(shelf=None): "Remove the dust from one shelf."
def undocumented(): pass
'''
PEN = '"""Write."""\ndef put(pen):\n    "Put the pen away when done."\n'


@pytest.fixture
def shelves(python_docs, tmp_path):
    # Only modules with names of the standard library are read.
    for name, source in {"shelve.py": SHELF, "json/pen.py": PEN, "x.py": PEN}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(source)
    (tmp_path / "json" / "tests").mkdir()
    (tmp_path / "json" / "tests" / "pen.py").write_text(PEN)
    return python_docs.read_documents(tmp_path)


def test_functions_methods_and_classes_with_a_docstring_are_documents(shelves):
    assert [(d.name, d.kind, d.arguments) for d in shelves] == [
        ("json.pen.put", "function", ("pen",)),
        ("shelve.Shelf", "class", ()),
        ("shelve.Shelf.put", "method", ("thing", "name")),
        ("shelve.Shelf._sort", "method", ()),
        ("shelve.Shelf.__len__", "method", ()),
        ("shelve.Rack", "class", ()),
        ("shelve.Rack.put", "method", ("shelf",)),
        ("shelve.dust", "function", ("shelf",)),
    ]
    shelf, put, sort, length = shelves[1:5]
    assert shelf.summary == "Keep things by their names."
    assert "second sentence" in shelf.rest and "More about" in shelf.rest
    assert shelf.identifiers == ("put", "_sort", "__len__")
    assert set(put.identifiers) == {"self", "things", "name", "thing"}
    assert (put.owner, put.module) == ("shelve.Shelf", "shelve")
    assert (sort.is_private, length.is_private, length.is_dunder) == (True, False, True)


def test_grades_follow_the_structure_of_the_documentation(python_docs, shelves):
    by_name = {document.name: document for document in shelves}
    same = replace(shelves[0], summary="Put a THING on the shelf, under its name")

    def grades_of(source, documents=shelves):
        return [python_docs.grade(by_name[source], other) for other in documents]

    #                                  pen Shelf put _sort len Rack put dust
    assert grades_of("shelve.Shelf.put") == [0, 2, 3, 2, 2, 1, 1, 1]
    assert grades_of("shelve.Rack") == [0, 1, 1, 1, 1, 3, 2, 1]
    assert grades_of("json.pen.put") == [3, 0, 0, 0, 0, 0, 0, 0]
    assert grades_of("shelve.Shelf.put", [same, *shelves[1:]])[0] == 3


def test_documents_are_found_by_the_words_of_their_columns(python_docs, shelves):
    with closing(python_docs.build_index(shelves)) as index:
        found = python_docs.find(index, "Who puts THINGS away? The dusting!", 50)
    columns = ["bm25", *python_docs.COLUMNS]
    by_name = {
        shelves[int(row[0])].name: dict(zip(columns, row[1:], strict=True))
        for row in found
    }
    # words are compared by their stems
    assert {"shelve.Shelf.put", "shelve.dust", "json.pen.put"} <= set(by_name)
    put = by_name["shelve.Shelf.put"]
    assert {c for c in python_docs.COLUMNS if put[c] > 0} == {
        "name",
        "arguments",
        "code",
    }
    assert python_docs.split_words("BaseHTTPServer start_tls") == [
        "base", "http", "server", "start", "tls"
    ]  # fmt: skip


def test_sqlite_without_fts5_is_named(python_docs, shelves, monkeypatch):
    class WithoutFTS5:
        def execute(self, command):
            raise sqlite3.OperationalError("no such module: fts5")

    monkeypatch.setattr(sqlite3, "connect", lambda name: WithoutFTS5())
    with pytest.raises(RuntimeError, match="SQLite .* has no full-text index FTS5"):
        python_docs.build_index(shelves)


# The real library, read once


@pytest.fixture(scope="module")
def documents(python_docs):
    return python_docs.read_documents()


@pytest.fixture(scope="module")
def docs(python_docs, documents):
    return python_docs.make_data(documents, N_QUERIES, 50)


@pytest.mark.slow
def test_no_summary_reaches_a_feature(python_docs, documents):
    sources = python_docs.query_sources(documents)[:40]
    silent = [replace(document, summary="Nothing.") for document in documents]
    with (
        closing(python_docs.build_index(documents)) as index,
        closing(python_docs.build_index(silent)) as blind,
    ):
        for query in (documents[source].summary for source in sources):
            found = python_docs.find(index, query, 20)
            np.testing.assert_array_equal(python_docs.find(blind, query, 20), found)
            features = python_docs.describe(documents, query, found)
            assert python_docs.describe(silent, query, found) == features


@pytest.mark.slow
def test_the_data_have_the_shapes_announced_and_their_source_in_every_query(docs):
    n_rows = len(docs.target)
    assert docs.data.shape == (n_rows, len(docs.feature_names))
    assert docs.data.dtype == np.float32
    assert np.isfinite(docs.data).all()
    assert np.all(np.ptp(docs.data, axis=0) > 0)
    assert (np.diff(docs.groups) >= 0).all()
    assert np.bincount(docs.groups, minlength=N_QUERIES).max() == 50
    assert len(set(docs.queries)) == N_QUERIES
    assert len(docs.documents) == n_rows
    assert 0.3 < docs.recall < 1
    assert np.bincount(docs.groups[docs.target == 3], minlength=N_QUERIES).min() == 1
    shares = np.bincount(docs.target) / n_rows
    assert shares[0] > 0.5
    assert shares[1] > shares[2] > shares[3] > 0


@pytest.mark.slow
def test_bm25_beats_chance_and_lambdamart_beats_bm25(docs):
    seen, unseen = docs.groups < 200, docs.groups >= 200
    ranker = LambdaMARTRanker(n_estimators=30, random_state=0)
    ranker.fit(docs.data[seen], docs.target[seen], groups=docs.groups[seen])

    def quality(scores, ties="pessimistic"):
        y, groups = docs.target[unseen], docs.groups[unseen]
        return NDCG(10, ties=ties).per_query(y, scores[unseen], groups=groups)

    chance = quality(np.zeros(len(docs.target)), ties="average")
    bm25 = quality(docs.data[:, docs.feature_names.index("bm25")])
    assert is_gain(bm25 - chance)
    # 100 queries of few trees; the first example has more of both
    assert quality(ranker.predict(docs.data)).mean() > bm25.mean()


@pytest.mark.long
def test_another_process_makes_the_same_data(docs):
    # with another iteration order of sets, and without what pytest puts into sys
    command = (
        "import hashlib\n"
        "import python_docs\n"
        "documents = python_docs.read_documents()\n"
        f"docs = python_docs.make_data(documents, {N_QUERIES}, 50)\n"
        "print(hashlib.sha256(docs.data.tobytes() + docs.target.tobytes()).hexdigest())"
    )
    printed = subprocess.run(
        [sys.executable, "-W", "error", "-c", command],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        cwd=EXAMPLES,
        env={**os.environ, "PYTHONHASHSEED": "12345"},
    ).stdout
    expected = hashlib.sha256(docs.data.tobytes() + docs.target.tobytes()).hexdigest()
    assert printed.strip() == expected


# The examples themselves

FILES = sorted(EXAMPLES.glob("[0-9]*.py"))
every_example = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


def extras_of_example(path):
    """Return the extras that an example names, or else those of all examples."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    says = "python -m pip install" in text
    return extras_of(text if says else (EXAMPLES / "README.rst").read_text("utf-8"))


@every_example
def test_an_example_imports_what_its_installation_brings(path):
    imported = imports(path.read_text(encoding="utf-8"))
    assert "sklearn_ltr" in imported
    own = {"sklearn_ltr", "python_docs"}  # which makes the data, beside the examples
    assert imported <= own | modules_of(extras_of_example(path))


@every_example
def test_an_example_has_a_picture_in_the_gallery(path):
    thumbnail = f"_static/thumbnails/{path.stem}.svg"
    assert f'thumbnail_path = "{thumbnail}"' in path.read_text(encoding="utf-8")
    root = ElementTree.parse(EXAMPLES.parent / "docs" / thumbnail).getroot()
    assert root.get("viewBox") == "0 0 200 140"


@pytest.fixture
def run(python_docs, monkeypatch):
    """Return a function that runs an example and returns what it has computed."""
    monkeypatch.delenv("DISPLAY", raising=False)  # nothing is shown, nor warned of

    def run(path, extras=None):
        extras = extras_of_example(path) if extras is None else extras
        off = sklearn.config_context()
        with off, mpl.rc_context({"backend": "agg"}), only(extras):
            computed = runpy.run_path(str(path), run_name="an_example")
            # what starts processes is a function, which these can import
            computed |= computed["main"]() if "main" in computed else {}
            plt.close("all")
        return computed

    return run


@pytest.fixture
def few(python_docs, documents, monkeypatch):
    """Give the examples less to look at, and no process to start."""

    make_data = cache(partial(python_docs.make_data, documents, 100))

    def few_queries(*, n_candidates=50):
        return make_data(n_candidates)

    def few_of(documents, max_queries, n_candidates):
        return make_data(n_candidates)

    make = partial(datasets.make_ranking, 60, n_documents=10, random_state=0)

    def few_rankings(*args, n_features=13, n_informative=10, n_query_features=2, **_):
        return make(
            n_features=n_features,
            n_informative=n_informative,
            n_query_features=n_query_features,
        )

    monkeypatch.setattr(python_docs, "load_python_docs", few_queries)
    monkeypatch.setattr(python_docs, "make_data", few_of)
    monkeypatch.setattr(python_docs, "read_documents", lambda: documents)
    monkeypatch.setattr(datasets, "make_ranking", few_rankings)
    local = partial(distributed.LocalCluster, processes=False)
    monkeypatch.setattr(distributed, "LocalCluster", local)
    with joblib.parallel_config("threading"):
        yield


@pytest.mark.slow
@pytest.mark.skipif(INTERPRETED, reason="takes minutes")
@pytest.mark.parametrize("path", FILES[1:], ids=lambda path: path.stem)
def test_an_example_runs_on_few_queries(path, run, few, capsys):
    run(path)
    assert capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.skipif(INTERPRETED, reason="takes minutes")
def test_the_first_example_says_how_to_get_its_picture(run, few, capsys):
    lines = "For a picture: python -m pip install matplotlib", "The picture is in"
    for extras, said, not_said in (((), *lines), (["examples"], *lines[::-1])):
        run(FILES[0], frozenset(extras))
        printed = capsys.readouterr().out
        assert said in printed and not_said not in printed


# What the texts of the examples say


def is_gain(differences):
    """Whether the mean is above zero by three standard errors."""
    return differences.mean() > 3 * sem(differences)


def check_01(gains, top_grades, shown, **_):
    assert all(map(is_gain, gains.values()))
    discounts = np.log2(np.arange(2, 7))
    for rule in shown:
        ours, bm25 = (
            np.sum((2.0 ** np.asarray(top_grades[rule, of]) - 1) / discounts)
            for of in ("LambdaMART", "BM25")
        )
        assert ours > 1.2 * bm25  # what is shown of the two lists, by DCG


def check_02(displays, forces, **_):
    left, right = displays.values()
    # as Burges counts them: those above rank 15, and above ranks 4 and 10
    assert (left.pairwise_errors, right.pairwise_errors) == (13, 3 + 8)

    def force(place, ranker, sigma):
        return forces[f"{place} list", ranker, sigma]

    for place in ("Left", "Right"):
        upper, lower = force(place, "RankNet", 1.0)
        assert upper < lower
        upper, lower = force(place, "LambdaRank", 16.0)
        assert upper < lower
    upper, lower = force("Left", "LambdaRank", 1.0)
    assert upper > 3 * lower  # the page says that it is larger
    upper, lower = force("Right", "LambdaRank", 1.0)
    assert abs(upper - lower) < 0.01  # the page shows two digits
    assert force("Left", "RankNet", 16.0).round().tolist() == [0, 13]
    assert force("Right", "RankNet", 16.0).round().tolist() == [3, 8]


def is_gain_of(comparison):
    """The same, of the one pair of a comparison."""
    (pair,) = comparison.pairs
    return pair.mean_difference > 3 * pair.standard_error


def check_03(comparison, **_):
    assert is_gain_of(comparison)


def check_04(comparisons, largest_difference, seconds, **_):
    assert all(map(is_gain_of, comparisons.values()))
    assert largest_difference < 1e-3
    assert seconds["with swap_delta"] < seconds["value only"]


def check_05(comparison, **_):
    assert is_gain_of(comparison)


def check_06(ascending, passed, **_):
    ours, ranknet = passed["LambdaRank"], passed["RankNet"]
    assert ours[1] == 5 > ranknet[1]
    ours, ranknet = (ascending[name].mean(axis=0) for name in ("LambdaRank", "RankNet"))
    assert ours[0] < ranknet[0]
    assert ours[0] > ours[1] and ranknet[0] > ranknet[1]


def check_07(values, **_):
    assert all(is_gain(v - values["BM25 alone"]) for v in list(values.values())[1:])


def check_08(difference, scores, upper, lower, docs, **_):
    np.testing.assert_allclose(difference.sum(), scores[upper] - scores[lower])
    assert list(difference.index) == docs.feature_names


def check_09(rankers, **_):
    last = {
        name: ranker.evals_result_["train"]["ndcg@10"][-1]
        for name, ranker in rankers.items()
    }
    assert last["ListNet"] > last["lambdas"]


def check_10(gain, here, there, **_):
    assert is_gain(gain)
    np.testing.assert_allclose(here, there, atol=1e-5)


def check_11(same, best_params, **_):
    assert same
    assert best_params


def check_12(values, clicks, purchases, best_share, **_):
    assert 2.8 * purchases.sum() < clicks.sum() < 3 * purchases.sum()
    first, last = values[0], values[-1]
    assert first[0] > last[0] + 0.1 and last[1] > first[1] + 0.05
    assert 0 < best_share < 1


def check_13(scores, ndcg, base, test, groups, **_):
    for name in ("LambdaMART", "blend"):
        values = ndcg.per_query(test["grade"], scores[name], groups=groups)
        assert is_gain(values - base)


def check_14(ranker, X_test, y_test, groups_test, estimate, **_):
    learned, in_use = (
        NDCG(10).per_query(y_test, scores, groups=groups_test)
        for scores in (ranker.predict(X_test), X_test["title_bm25"])
    )
    assert is_gain(learned - in_use)
    assert estimate.value > 3 * estimate.standard_error


def check_15(worths, probabilities, y_test, found, had_good, **_):
    ours = worths["with both"]
    assert is_gain(ours - worths["raw scores"])
    assert is_gain(ours - worths["LambdaMART"])  # which does not know good searches
    assert abs(probabilities["with both"].mean() - y_test.mean()) < 0.03
    assert had_good[~found].mean() < had_good[found].mean()


def check_16(comparison, vectorizer, table, is_same, **_):
    assert dict(zip(table, vectorizer.kinds_, strict=True))["brand"] == "target"
    gains = {(pair.a, pair.b): pair.low for pair in comparison.pairs}
    assert gains["network", "blend"] > 0
    assert is_same


def check_17(searches, estimates, truths, comparison, **_):
    tried = [search.cv_results_["params"] for search in searches.values()]
    assert tried[0] == tried[1]
    optimism = {name: estimates[name] - truths[name] for name in searches}
    assert optimism["by query"] > 2 * abs(optimism["by user"])
    assert is_gain_of(comparison)
    (by_user,), (by_query,) = comparison.pairs, comparison.by_query.pairs
    assert by_user.high - by_user.low > by_query.high - by_query.low


def check_18(explained, comparison, **_):
    assert comparison.means["regressor"] < comparison.means["LambdaMART"]
    grades, both, order = explained.values()
    assert grades > both > order
    assert grades > 0 > order


def check_19(found, is_wrong, drift, path, **_):
    assert found[99] / 100 > 10 * is_wrong.mean()
    assert drift["as in training"].max() < 0.25 < drift.loc["class_share", "shorter"]
    assert "Drift" in path.read_text(encoding="utf-8")


def check_20(METRICS, comparisons, pairs, runs, qrels, leads, won, **_):
    for name, metric in METRICS.items():
        for run in runs:
            value = metric(**datasets.join_run(run, qrels))
            assert comparisons[name].means[run.tag] == pytest.approx(value)
    assert all(pair.low > 0 for pair in pairs.values())
    # searches of a query are not independent, and clicks are noisier than judgements
    assert leads[10].sem() > won.sem()
    judged, clicked = pairs["NDCG@10"], leads[1]
    by_judges = judged.mean_difference / judged.standard_error
    assert by_judges > 3 > clicked.mean() / clicked.sem()


@pytest.mark.long
@pytest.mark.skipif(INTERPRETED, reason="takes hours")
@every_example
def test_what_an_example_says_is_so(path, run):
    globals()[f"check_{path.stem[:2]}"](**run(path))
