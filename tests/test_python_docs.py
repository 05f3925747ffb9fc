"""The search data are what they claim to be, and no answer leaks into a feature."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesRegressor

from sklearn_ltr.datasets import _python_docs, load_python_docs
from sklearn_ltr.datasets._python_docs._corpus import Corpus, read_corpus
from sklearn_ltr.datasets._python_docs._document import split_docstring
from sklearn_ltr.datasets._python_docs._features import compute_features
from sklearn_ltr.datasets._python_docs._grading import askable, grade
from sklearn_ltr.datasets._python_docs._index import FIELDS, Index
from sklearn_ltr.datasets._python_docs._scoring import Matches
from sklearn_ltr.metrics import ndcg_score

ROOT = Path(__file__).resolve().parents[1]


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
    def __len__(self): "Count the shelves of a rack."
if True:
    async def dust(shelf=None): "Remove the dust from one shelf."
def undocumented(): pass
'''
PEN = '"""Write."""\ndef put(pen):\n    "Put the pen away when done."\n'


@pytest.fixture
def shelves(tmp_path) -> Corpus:
    # Only names of the standard library are read, so the two borrow some.
    for name, source in {"shelve.py": SHELF, "json/pen.py": PEN, "x.py": PEN}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(source)
    (tmp_path / "json" / "tests").mkdir()
    (tmp_path / "json" / "tests" / "pen.py").write_text(PEN)
    return read_corpus(tmp_path, with_c=False)


def test_functions_methods_and_classes_with_a_docstring_are_documents(shelves):
    assert [(d.name, d.kind, d.arguments) for d in shelves.documents] == [
        ("json.pen.put", "function", ("pen",)),
        ("shelve.Shelf", "class", ()),
        ("shelve.Shelf.put", "method", ("thing", "name")),
        ("shelve.Shelf._sort", "method", ()),
        ("shelve.Shelf.__len__", "method", ()),
        ("shelve.Rack", "class", ()),
        ("shelve.Rack.put", "method", ("shelf",)),
        ("shelve.Rack.__len__", "method", ()),
        ("shelve.dust", "function", ("shelf",)),
    ]
    shelf, put, sort, length = shelves.documents[1:5]
    assert shelf.summary == "Keep things by their names."
    assert "second sentence" in shelf.rest and "More about" in shelf.rest
    assert shelf.mentions == ("put", "_sort", "__len__")
    assert set(put.mentions) == {"self", "things", "name", "thing"}
    assert (put.owner, put.module) == ("shelve.Shelf", "shelve")
    assert (sort.is_private, length.is_private, length.is_dunder) == (True, False, True)
    assert shelves.module_texts == {
        "json.pen": "Write.",
        "shelve": "Shelve things by name.",
    }


@pytest.mark.parametrize(
    ("docstring", "summary", "rest"),
    [
        ("One line", "One line", ""),
        ("First.  Second.\n\nThird.", "First.", "Second.\n\nThird."),
        ("It wraps\n    here. And on", "It wraps here.", "And on"),
        ("max(a, b) -> value\n\nThe larger.", "The larger.", "max(a, b) -> value"),
        ("Version 3.11 is new. Old.", "Version 3.11 is new.", "Old."),
        ("\n\n", "", ""),
    ],
)
def test_a_docstring_falls_into_its_first_sentence_and_the_rest(
    docstring, summary, rest
):
    assert [part.strip() for part in split_docstring(docstring)] == [summary, rest]


def test_grades_follow_the_structure_of_the_documentation(shelves):
    names = [document.name for document in shelves.documents]
    everything = np.arange(len(names))[None, :]
    twin = replace(
        shelves.documents[0], summary="Put a THING on the shelf, under its name"
    )

    def graded(item, documents=shelves.documents):
        return grade(documents, np.array([names.index(item)]), everything)[0].tolist()

    #                              pen Shelf put _sort len Rack put len dust
    assert graded("shelve.Shelf.put") == [0, 2, 4, 2, 2, 1, 3, 1, 1]
    assert graded("shelve.Shelf.__len__") == [0, 2, 2, 2, 4, 1, 1, 1, 1]
    assert graded("shelve.Rack") == [0, 1, 1, 1, 1, 4, 2, 2, 1]
    assert graded("json.pen.put") == [4, 0, 0, 0, 0, 0, 0, 0, 0]
    assert graded("shelve.Shelf.put", [twin, *shelves.documents[1:]])[0] == 4


def test_a_query_is_a_sentence_that_few_documents_share(shelves):
    def asks(*summaries):
        template = shelves.documents[0]
        documents = [
            replace(template, name=f"json.f{i}", summary=summary)
            for i, summary in enumerate(summaries)
        ]
        return sorted(askable(documents).tolist())

    good = "Return the number of things."
    assert asks(good) == [0]
    assert asks(good, "return the number of things") == [0]  # the first for its twin
    assert asks(good, good, good, good) == []
    assert asks(">>> print(one, two, three, four)", "f(x) is one of the best") == []
    assert asks("Return it.", "Return " + "very " * 30 + "long things now.") == []


def test_a_folder_without_sources_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="No sources"):
        read_corpus(tmp_path)


# The real library, read once


N_QUERIES = 200


@pytest.fixture(scope="module")
def library() -> Corpus:
    return read_corpus()


@pytest.fixture(scope="module")
def index(library) -> Index:
    return Index(library)


@pytest.fixture(scope="module")
def docs(library):
    return _python_docs._bunch(_python_docs.build(library, N_QUERIES, 50))


@pytest.fixture
def asked(index) -> tuple[list[str], np.ndarray]:
    queries = [index.documents[i].summary for i in askable(index.documents)[:40]]
    return queries, index.candidates(queries, 20)


def test_no_summary_reaches_what_is_searched(library, index, asked):
    queries, candidates = asked
    silent = [replace(d, summary="Nothing.") for d in library.documents]
    blind = Index(replace(library, documents=silent))
    for field in FIELDS:
        difference = blind.fields[field].counts != index.fields[field].counts
        assert difference.nnz == 0
    np.testing.assert_array_equal(blind.candidates(queries, 20), candidates)
    expected = compute_features(index, queries, candidates)
    for name, values in compute_features(blind, queries, candidates).items():
        np.testing.assert_array_equal(values, expected[name])


def test_features_come_from_the_words_and_the_candidates_alone(index, asked):
    queries, candidates = asked
    rng = np.random.default_rng(0)
    subset = rng.permutation(len(queries))[:10]  # other queries, another order
    shuffle = rng.permuted(np.tile(np.arange(20), (10, 1)), axis=1)
    whole = compute_features(index, queries, candidates)
    part = compute_features(
        index,
        [queries[i] for i in subset],
        np.take_along_axis(candidates[subset], shuffle, axis=1),
    )
    for name, values in whole.items():
        expected = np.take_along_axis(values.reshape(-1, 20)[subset], shuffle, axis=1)
        # Sums over a query's candidates may round differently in another order.
        np.testing.assert_allclose(
            part[name].reshape(10, 20), expected, rtol=1e-12, err_msg=name
        )


def test_candidates_are_the_best_of_bm25(index):
    query = ["Return the sum of a start value plus an iterable of numbers."]
    everything = np.arange(len(index.documents))[None, :]
    matches = Matches(index.fields["all"], index.query_words(query), everything)
    scores = matches.bm25()
    found = index.candidates(query, 30)[0]
    assert np.all(np.diff(found) > 0)
    others = np.delete(scores, found)
    assert scores[found].min() >= others.max() - 1e-12  # the two sum in another order


def test_the_data_have_the_shapes_and_types_announced(docs):
    n_rows = N_QUERIES * 50
    assert docs.data.shape == (n_rows, len(docs.feature_names))
    assert docs.data.dtype == np.float32
    assert np.isfinite(docs.data).all()
    assert np.all(np.ptp(docs.data, axis=0) > 0)  # no column is idle
    assert docs.groups.tolist() == [q for q in range(N_QUERIES) for _ in range(50)]
    assert len(set(docs.queries)) == N_QUERIES
    assert len(docs.documents) == len(docs.summaries) == n_rows
    assert 0.3 < docs.recall < 1
    assert f"{N_QUERIES} queries" in docs.DESCR


def test_every_query_has_its_very_item_and_grades_are_spread(docs):
    very_item = docs.target == 4
    assert np.bincount(docs.groups[very_item], minlength=N_QUERIES).min() == 1
    asked = [docs.queries[query] for query in docs.groups]
    assert np.all(np.array(asked)[~very_item] != docs.summaries[~very_item])
    shares = np.bincount(docs.target, minlength=5) / len(docs.target)
    assert len(shares) == 5
    assert shares[0] > 0.5
    assert shares[1] > shares[2] > shares[4] > shares[3] > 0


def test_bm25_beats_chance_and_learning_beats_bm25(docs):
    seen, unseen = docs.groups < 140, docs.groups >= 140
    trees = ExtraTreesRegressor(30, min_samples_leaf=5, random_state=0)
    trees.fit(docs.data[seen], 2.0 ** docs.target[seen])

    def quality(scores):
        y, groups = docs.target[unseen], docs.groups[unseen]
        return ndcg_score(y, scores[unseen], groups=groups, k=10)

    chance = quality(np.random.default_rng(0).random(len(docs.target)))
    bm25 = quality(docs.data[:, docs.feature_names.index("bm25_all")])
    # Over three draws of the queries: 0.11 to 0.17, 0.50 to 0.60, 0.65 to 0.68.
    assert chance + 0.2 < bm25
    assert bm25 + 0.04 < quality(trees.predict(docs.data))


def test_another_process_makes_the_same_data(docs, tmp_path):
    # One with another order of sets, and without what pytest puts in sys.
    options = {"max_queries": N_QUERIES, "data_home": str(tmp_path)}
    command = (
        "from sklearn_ltr.datasets import load_python_docs\n"
        f"load_python_docs(**{options})"
    )
    subprocess.run(
        [sys.executable, "-W", "error", "-c", command],
        check=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "12345"},
    )
    stored = load_python_docs(**options)
    assert docs.keys() == stored.keys()
    for name in docs:
        np.testing.assert_array_equal(docs[name], stored[name])


def test_what_is_in_the_cache_is_not_made_again(tmp_path, monkeypatch, shelves):
    monkeypatch.setattr(_python_docs, "read_corpus", lambda: shelves)
    options = {"n_candidates": 5, "data_home": tmp_path}
    made = load_python_docs(**options)
    uncached = load_python_docs(n_candidates=5, cache=False)
    monkeypatch.delattr(_python_docs, "build")
    stored = load_python_docs(**options)
    assert made.keys() == stored.keys()
    for name in made:
        np.testing.assert_array_equal(made[name], stored[name])
        np.testing.assert_array_equal(made[name], uncached[name])
    assert len(list((tmp_path / "sklearn_ltr").iterdir())) == 1


def test_a_write_that_fails_leaves_no_file(tmp_path, monkeypatch, shelves):
    def fail(*args, **kwargs):
        raise OSError("disk full")

    monkeypatch.setattr(_python_docs, "read_corpus", lambda: shelves)
    monkeypatch.setattr(np, "savez_compressed", fail)
    with pytest.raises(OSError, match="disk full"):
        load_python_docs(n_candidates=5, data_home=tmp_path)
    assert list((tmp_path / "sklearn_ltr").iterdir()) == []


def test_sizes_out_of_range_are_named(shelves):
    with pytest.raises(ValueError, match="max_queries"):
        load_python_docs(max_queries=0)
    with pytest.raises(ValueError, match="n_candidates"):
        load_python_docs(n_candidates=1)
    with pytest.raises(ValueError, match="n_candidates=10 is more than the 9"):
        _python_docs.build(shelves, 5, 10)
