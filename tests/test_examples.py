"""The examples run; their search data are as described, and no grade leaks."""

from __future__ import annotations

import hashlib
import importlib
import os
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import joblib
import matplotlib as mpl
import numpy as np
import pytest
import sklearn
from scipy.sparse import csr_array
from sklearn.utils import Bunch

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr._compile import INTERPRETED
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.metrics import ndcg_score

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
N_QUERIES = 300


@pytest.fixture(scope="module")
def python_docs():
    """The package of the examples and its modules, as attributes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(EXAMPLES)
        package = importlib.import_module("python_docs")
        names = ("documents", "search", "grades")
        modules = {n: importlib.import_module(f"python_docs.{n}") for n in names}
        yield SimpleNamespace(package=package, **modules)


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
    return python_docs.documents.read_documents(tmp_path)


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
    assert shelf.module_text == "Shelve things by name."


def test_grades_follow_the_structure_of_the_documentation(python_docs, shelves):
    names = [document.name for document in shelves]
    everything = np.arange(len(names))[np.newaxis, :]
    same = replace(shelves[0], summary="Put a THING on the shelf, under its name")

    def grades_of(source, documents=shelves):
        sources = np.array([names.index(source)])
        return python_docs.grades.grade(documents, sources, everything)[0].tolist()

    #                                  pen Shelf put _sort len Rack put dust
    assert grades_of("shelve.Shelf.put") == [0, 2, 3, 2, 2, 1, 1, 1]
    assert grades_of("shelve.Rack") == [0, 1, 1, 1, 1, 3, 2, 1]
    assert grades_of("json.pen.put") == [3, 0, 0, 0, 0, 0, 0, 0]
    assert grades_of("shelve.Shelf.put", [same, *shelves[1:]])[0] == 3


def test_bm25_is_its_formula(python_docs):
    texts = ["read a file a file", "write to a file", "", "close the door"]
    split = [text.split() for text in texts]
    vocabulary = sorted({word for text in split for word in text})
    counts = np.array([[text.count(w) for w in vocabulary] for text in split], float)

    def term(word, text):
        tf, df = text.count(word), sum(word in other for other in split)
        idf = np.log(1 + (4 - df + 0.5) / (df + 0.5))
        return idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * len(text) / 3))

    expected = [[term(word, text) for word in vocabulary] for text in split]
    weights = python_docs.search.bm25_weights(csr_array(counts))
    np.testing.assert_allclose(weights.toarray(), expected)


# The real library, read once


@pytest.fixture(scope="module")
def index(python_docs):
    return python_docs.search.SearchIndex(python_docs.documents.read_documents())


@pytest.fixture(scope="module")
def docs(python_docs, index):
    return python_docs.package.make_data(index, N_QUERIES, 50)


@pytest.mark.slow
def test_no_summary_reaches_a_feature(python_docs, index):
    compute_features = python_docs.search.compute_features
    sources = python_docs.grades.query_sources(index.documents)[:40]
    queries = [index.documents[i].summary for i in sources]
    candidates = index.find(queries, 20)
    silent = [replace(d, summary="Nothing.") for d in index.documents]
    blind = python_docs.search.SearchIndex(silent)
    np.testing.assert_array_equal(blind.find(queries, 20), candidates)
    features = compute_features(index, queries, candidates)
    for name, values in compute_features(blind, queries, candidates).items():
        np.testing.assert_array_equal(values, features[name])
    # Nor does a feature depend on other queries.
    some = compute_features(index, queries[10:20], candidates[10:20])
    for name, values in some.items():
        np.testing.assert_array_equal(values, features[name][200:400], err_msg=name)


@pytest.mark.slow
def test_the_data_have_the_shapes_announced_and_their_source_in_every_query(docs):
    n_rows = N_QUERIES * 50
    assert docs.data.shape == (n_rows, len(docs.feature_names))
    assert docs.data.dtype == np.float32
    assert np.isfinite(docs.data).all()
    assert np.all(np.ptp(docs.data, axis=0) > 0)
    assert docs.groups.tolist() == [q for q in range(N_QUERIES) for _ in range(50)]
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

    def quality(scores):
        y, groups = docs.target[unseen], docs.groups[unseen]
        return ndcg_score(y, scores[unseen], groups=groups, k=10)

    chance = quality(np.random.default_rng(0).random(len(docs.target)))
    bm25 = quality(docs.data[:, docs.feature_names.index("bm25_all")])
    assert chance + 0.2 < bm25
    assert bm25 + 0.04 < quality(ranker.predict(docs.data))


@pytest.mark.long
def test_another_process_makes_the_same_data(docs):
    # with another iteration order of sets, and without what pytest puts into sys
    command = (
        "import hashlib, python_docs\n"
        f"docs = python_docs.load_python_docs(max_queries={N_QUERIES})\n"
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
PRINTED = {
    "01_first_ranker": ("BM25", "LambdaMART", "NDCG@10", "MAP", "MRR"),
    "02_forces_on_one_query": ("RankNet", "LambdaRank", "13 pairwise", "11 pairwise"),
    "03_grid_search_by_query": ("settings x 5 folds", "sigma", "The picture"),
    "04_your_own_metric": ("value only", "with swap_delta", "RankNet"),
    "05_dataframe_to_ranking": ("BM25", "LambdaRank", "rank", "document"),
    "06_local_optimum": ("none of 459", "LambdaRank", "RankNet", "of 5"),
    "07_rerank": ("BM25 alone", "RankNet", "LambdaMART", "MRR", "median", "95%"),
    "08_explain_a_result": ("why rank 1", "other features", "difference of the"),
    "09_your_own_objective": ("lambdas, train", "ListNet, validation_1", "map"),
    "10_export_a_model": (
        "largest difference",
        "POST /_ltr/_featureset/python_docs/_createmodel",
        "PUT /_ml/trained_models/ranker",
        "PUT /schema/model-store",
    ),
    "11_cluster": ("brought together", "one machine: True"),
}
every_example = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


def make_small(example):
    """Let an example look at less, and start no process."""
    if hasattr(example, "GRID"):
        example.GRID = {name: values[:1] for name, values in example.GRID.items()}
    if hasattr(example, "synthetic"):
        made = make_ranking(60, n_documents=10, n_features=13, random_state=0)
        example.synthetic = lambda seed: (made.data, made.target, made.groups)
    if hasattr(example, "LocalCluster"):
        example.LocalCluster = partial(example.LocalCluster, processes=False)


@pytest.mark.slow
@pytest.mark.skipif(INTERPRETED, reason="takes minutes")
@every_example
def test_an_example_runs_on_few_queries(path, python_docs, docs, monkeypatch, capsys):
    def few_queries(*, max_queries=0, n_candidates=50):
        rows = np.flatnonzero(docs.groups < 100).reshape(100, 50)[:, :n_candidates]
        columns = ("data", "target", "groups", "documents")
        return Bunch(**docs | {name: docs[name][rows.ravel()] for name in columns})

    monkeypatch.setattr(python_docs.package, "load_python_docs", few_queries)
    with (
        sklearn.config_context(),
        mpl.rc_context({"backend": "agg"}),
        joblib.parallel_config("threading"),
    ):
        example = importlib.import_module(path.stem)
        make_small(example)
        example.main()
    printed = capsys.readouterr().out
    assert all(word in printed for word in PRINTED[path.stem])


@pytest.mark.long
@every_example
def test_an_example_runs_as_it_is_without_a_warning(path):
    compiled = {k: v for k, v in os.environ.items() if k != "NUMBA_DISABLE_JIT"}
    process = subprocess.run(
        [sys.executable, "-W", "error", path],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env=compiled,
        timeout=180,  # takes less than 60 s on two idle cores
    )
    assert all(word in process.stdout for word in PRINTED[path.stem])
