"""The programs of docs/guide/recipes.md run, and do what the page says."""

from __future__ import annotations

import ast
import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.metrics import map_score, ndcg_score, rank_scores
from tests.docs.installation import extras_of, only
from tests.docs.test_readme_and_examples import check_comparisons

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "guide" / "recipes.md"
# each runs with its library in a job of its own
PROGRAMS = sorted((ROOT / "examples" / "other_libraries").glob("*.py"))


@pytest.fixture(scope="module")
def names():
    """What the programs of the page define, run one after the other."""
    text = PAGE.read_text(encoding="utf-8")
    defined: dict[str, object] = {}
    off = sklearn.config_context()
    with off, mpl.rc_context({"backend": "agg"}), only(extras_of(text)):
        for program in re.findall(r"^```python\n(.*?)^```", text, flags=re.M | re.S):
            exec(compile(program, str(PAGE), "exec"), defined)
    return defined


def test_the_ranks_of_the_table_are_those_within_its_queries(names):
    table, ranker, features = names["table"], names["ranker"], names["features"]
    expected = rank_scores(ranker.predict(features), groups=table["query"])
    np.testing.assert_array_equal(table["rank"], expected)
    assert ranker.feature_names_in_.tolist() == ["price", "stars", "brand"]
    assert ranker.is_categorical_.tolist() == [False, False, True]


def test_the_search_gets_the_same_features_from_the_whole_table(names):
    table, features = names["table"], names["features"]
    best = names["search"].best_estimator_[-1]
    assert best.is_categorical_.tolist() == [False, False, True]
    assert best.feature_names_in_.tolist() == list(features)
    scores = names["search"].predict(table)
    np.testing.assert_array_equal(scores, best.predict(features))
    np.testing.assert_array_equal(
        names["ranks"], rank_scores(scores, groups=table["query"])
    )


def test_frames_of_polars_need_no_other_recipe(names):
    table, ranker = pl.from_pandas(names["table"]), names["ranker"]
    features = table.drop("query", "document", "grade", "rank")
    again = LambdaMARTRanker(n_estimators=20, random_state=0)
    again.fit(features, table["grade"], groups=table["query"])
    expected = ranker.predict(names["features"])
    np.testing.assert_array_equal(again.predict(features), expected)


def test_a_linear_model_of_leaves_ranks_nearly_as_well_as_their_trees(names):
    table = names["table"]
    linear, trees = (
        ndcg_score(table["grade"], scores, groups=table["query"], k=10)
        for scores in (names["scores"], names["ranker"].predict(names["features"]))
    )
    assert linear > 0.95 * trees
    assert re.fullmatch(r"x\d+_\d+", names["heaviest"])


def test_the_halving_draws_whole_queries_and_compares_on_all_of_them(names):
    halving, data = names["halving"], names["data"]
    assert not np.isnan(halving.cv_results_["mean_test_score"]).any()
    assert halving.n_resources_[0] == halving.min_resources
    assert halving.best_params_["max_samples"] == halving.max_resources
    n_queries = len(np.unique(data.groups))
    assert halving.max_resources == n_queries // halving.cv.n_splits


# --- programs that need other libraries -------------------------------------------


def program(beginning):
    """Return the program of the page that begins so."""
    text = PAGE.read_text(encoding="utf-8")
    programs = re.findall(r"^```py\n(.*?)^```", text, flags=re.M | re.S)
    (found,) = [p for p in programs if p.startswith(f"{beginning}\n")]
    return found


def run(names, *beginnings):
    """Run some of these programs, one after the other."""
    defined = dict(names)
    for beginning in beginnings:
        exec(compile(program(beginning), str(PAGE), "exec"), defined)
    return defined


their_warnings = pytest.mark.filterwarnings("ignore")


@their_warnings
def test_optuna_prunes_trials(names):
    pytest.importorskip("optuna")
    study = run(names, "import optuna")["study"]
    assert len(study.trials) == 10
    assert study.best_value == max(t.value for t in study.trials if t.value is not None)


@their_warnings
def test_mlflow_keeps_the_model_and_computes_our_metric(names, tmp_path, monkeypatch):
    pytest.importorskip("mlflow")
    monkeypatch.chdir(tmp_path)  # runs are written there
    evaluate = "from mlflow.models import evaluate, make_metric"
    defined = run(names, "import mlflow", evaluate)
    scores = defined["tracked"].predict(names["X_val"])
    np.testing.assert_array_equal(defined["loaded"].predict(names["X_val"]), scores)
    expected = ndcg_score(names["y_val"], scores, groups=names["groups_val"], k=10)
    assert defined["result"].metrics["ndcg_10"] == pytest.approx(expected, rel=1e-12)


@their_warnings
def test_ir_measures_finds_the_same_ndcg_of_linear_gains_and_map(names):
    ir_measures = pytest.importorskip("ir_measures")
    measured = run(names, "import ir_measures")["measured"]
    judged = names["judged"]
    columns = judged["relevance"], judged["score"]
    ndcg = ndcg_score(*columns, groups=judged["query_id"], k=10, gain="linear")
    average_precision = map_score(*columns, groups=judged["query_id"])
    found = [measured[ir_measures.nDCG @ 10], measured[ir_measures.AP]]
    assert found == pytest.approx([ndcg, average_precision], rel=1e-6)


@pytest.mark.slow
def test_ranx_finds_the_same_ndcg_of_exponential_gains_and_map(names):
    pytest.importorskip("ranx")
    judged = names["judged"]
    # in a process of its own: it starts numba's threads, which a fork does not survive
    code = [
        "import json, sys, pandas as pd",
        "dtypes = {'query_id': str, 'doc_id': str}",
        "judged = pd.DataFrame(json.load(sys.stdin)).astype(dtypes)",
        program("import ranx"),
        "print(json.dumps({name: float(values[name]) for name in values}))",
    ]
    answer = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", "\n".join(code)],
        input=json.dumps(judged.to_dict("list")),
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        check=True,
        capture_output=True,
        text=True,
    )
    columns = judged["relevance"], judged["score"]
    expected = {
        "ndcg_burges@10": ndcg_score(*columns, groups=judged["query_id"], k=10),
        "map": map_score(*columns, groups=judged["query_id"]),
    }
    found = json.loads(answer.stdout.splitlines()[-1])
    assert found == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_of_another_library_is_on_the_page_and_uses_what_we_have(path):
    name = path.relative_to(ROOT).as_posix()
    assert f"```{{literalinclude}} ../../{name}\n:language: py\n" in PAGE.read_text(
        encoding="utf-8"
    )
    source = path.read_text(encoding="utf-8")
    compile(source, name, "exec")
    imports = [
        (node.module, alias.name)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and node.module.startswith("sklearn_ltr")
        for alias in node.names
    ]
    assert imports
    for module, imported in imports:
        if module == "sklearn_ltr.spark":
            pytest.importorskip("pyspark")
        assert hasattr(importlib.import_module(module), imported)


# --- PyTerrier --------------------------------------------------------------------

DATA = make_ranking(30, n_documents=10, random_state=0)
QIDS = DATA.groups.astype(str)  # as PyTerrier has them, and sorts them


def topics(queries):
    """Results with features, and qrels, as PyTerrier has them; rows are shuffled."""
    rows = np.flatnonzero(np.isin(DATA.groups, queries))
    rows = np.random.default_rng(0).permutation(rows)
    results = pd.DataFrame(
        {
            "qid": QIDS[rows],
            "query": "words",
            "docno": rows.astype(str),
            "score": 0.0,
            "rank": 0,
            "features": list(DATA.data[rows]),
        }
    )
    relevant = rows[DATA.target[rows] > 0]
    qrels = pd.DataFrame(
        {
            "qid": QIDS[relevant],
            "docno": relevant.astype(str),
            "label": DATA.target[relevant],
        }
    )
    return results, qrels


TRAIN, VALIDATION = topics(np.arange(20)), topics(np.arange(20, 30))


def new_ranker():
    return LambdaMARTRanker(n_estimators=40, n_iter_no_change=3, random_state=0)


def expected_ranker():
    train, validation = (np.isin(DATA.groups, q) for q in (range(20), range(20, 30)))
    return new_ranker().fit(
        DATA.data[train], DATA.target[train], groups=QIDS[train],
        X_val=DATA.data[validation], y_val=DATA.target[validation],
        groups_val=QIDS[validation],
    )  # fmt: skip


def call_as_pyterrier_does(learner, train, validation):
    """Group the results by topic, and fit with the sizes of the topics."""

    def judged(results, qrels):
        merged = results.merge(qrels, on=["qid", "docno"], how="left")
        merged = merged.fillna({"label": 0}).sort_values("qid")
        sizes = merged.groupby("qid", sort=False)["docno"].count().to_numpy()
        features = np.stack(merged["features"].to_numpy())
        return features, merged["label"].to_numpy(), sizes

    X, y, sizes = judged(*train)
    X_val, y_val, sizes_val = judged(*validation)
    learner.fit(X, y, group=sizes, eval_set=[(X_val, y_val)], eval_group=[sizes_val])


def test_a_learner_called_with_sizes_is_the_ranker_fitted_with_ids(names):
    learner = names["PyTerrierLearner"](new_ranker())
    call_as_pyterrier_does(learner, TRAIN, VALIDATION)
    expected = expected_ranker()
    assert expected.n_iter_ < 40
    assert learner.ranker.n_iter_ == expected.n_iter_
    np.testing.assert_array_equal(
        learner.predict(DATA.data), expected.predict(DATA.data)
    )


@pytest.mark.filterwarnings("ignore")  # those of PyTerrier itself
def test_pyterrier_trains_and_applies_it(names):
    ltr = pytest.importorskip("pyterrier.ltr")
    learner = names["PyTerrierLearner"](new_ranker())
    model = ltr.apply_learned_model(learner, form="ltr")
    model.fit(*TRAIN, *VALIDATION)
    results, _ = VALIDATION
    found = model.transform(results).set_index("docno").loc[results["docno"]]
    scores = expected_ranker().predict(np.stack(results["features"].to_numpy()))
    np.testing.assert_array_equal(found["score"], scores)
    ranks = rank_scores(scores, groups=results["qid"])
    np.testing.assert_array_equal(found["rank"] + 1, ranks)


def test_trees_that_learn_from_all_queries_replace_the_blend(names):
    one_model, comparison = names["one_model"], names["compared"]
    check_comparisons(repr(comparison))
    lost = {pair.b: -pair.mean_difference for pair in comparison.pairs}
    assert lost["all queries"] < 0.01 < lost["judged queries"]
    assert isinstance(one_model["its trees"], LambdaMARTRanker)
    assert len(json.loads(names["uploaded"])["tree_info"]) == 300


def test_pairs_of_a_judge_who_errs_rank_nearly_as_well_as_all_grades(names):
    assert set(names["probabilities"]) == {0, 0.5, 1}
    rows = ~names["is_train"]
    of_pairs, of_grades = (
        ndcg_score(
            names["hidden"][rows],
            names[name].predict(names["documents"][rows]),
            groups=names["queries"][rows],
            k=10,
        )
        for name in ("by_pairs", "by_grades")
    )
    assert of_grades - 0.15 < of_pairs
    assert of_pairs > 0.6
