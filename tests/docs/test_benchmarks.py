"""Each script that measures time runs, at a tiny size, and writes its results."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from operator import itemgetter
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import sem

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "benchmarks"
TINY = ["--preset", "small", "--repetitions", "1"]
OURS = ["--libraries", "sklearn_ltr"]
SETTINGS = ["defaults", "noise on X", "quantiles of X", "smooth clipping"]
OTHER = "a second checkout"
COMMANDS = {
    "speed.fit": [*TINY, *OURS],
    "clicks.clicks_protocol": [
        *("--queries", "20", "--sessions", "300", "--seeds", "1"),
        *("--users", "dbn", "--strengths", "1", "--methods"),
        *("naive", "additive", "pairwise", "true propensities"),
    ],
    "clicks.clicks_judges": ["--made", "40", "--sessions", "4500", "--seeds", "1"],
    "quality.categories": [*TINY, *OURS, "--encodings"],
    "quality.blends": ["--made", "20", "--seeds", "1", "--peers"],
    "quality.budget": ["--made", "8", "--candidates", "2"],
    "quality.search_budget": ["--made", "30", "--seconds", "2", *OURS],
    "quality.pairs": ["--made", "20", "--hours", "0.1", "--seeds", "1", "--error", "0"],
    "quality.calibration": ["--made", "30", "--rankers", "LambdaMARTRanker"],
    "quality.several_labels": ["--shop", "40"],
    "speed.dask_fit": [*TINY, *OURS, "--workers", "2"],
    "speed.spark_and_ray": [
        *("--queries", "20", "--trees", "2", "--workers", "2", "--repetitions", "1"),
        *OURS,
    ],
    "speed.cluster_growth": ["--measured-rows", "2000", "--trees", "2"],
    "speed.larger_than_memory": [
        *("--gigabytes", "0.01", "--partition-rows", "3000", "--trees", "2"),
        *("--threads", "1", "--check"),
    ],
    "speed.beside_others": [
        *("--scale", "0.03", "--trees", "3", "--rounds", "1", "--busy", "1"),
        *("--calls", "10", "--pairs", "1", *OURS),
    ],
    "speed.second_thread": ["--shapes", "600x9", "--trees", "2", "--pairs", "1"],
    "speed.predict": [*TINY, *OURS, "--rows", "100", "--threads", "1"],
    "speed.explain": [*TINY, *OURS, "--rows", "100", "--threads", "1"],
    "quality.learning_curves": [
        *("--made", "10", "--sizes", "20", "40", "--seeds", "1"),
        *("--libraries", "sklearn_ltr", "subsample=1"),
    ],
    "quality.dart": [
        *("--made", "20", "--trees", "3", "--settings", "1", "--seeds", "1"),
        *("--libraries", "sklearn_ltr"),
    ],
    "studies.smallest_leaf": ["--made", "10", "--sizes", "2", "--seeds", "2"],
    "studies.networks": [
        *("--made", "--queries", "30", "--seeds", "2", "--settings", *SETTINGS)
    ],
    "clicks.propensities": ["--queries", "20", "--sessions", "1000", "--seeds", "1"],
    "speed.scaling": ["--presets", "small", "--threads", "1", *TINY[2:], *OURS],
    "speed.sparse_tables": ["--tables", "tiny", *TINY[2:], "--threads", "1", *OURS],
    "speed.shapes": ["--shapes", "tiny", *TINY[2:], "--threads", "1", *OURS],
    "studies.coverage": ["--repetitions", "3"],
    "speed.soak": ["--fits", "12", "--predictions", "100", "--interrupts", "2"],
    "studies.what_works_where": [*OURS, "--features", "query ids"],
    "speed.startup": ["--imports", ROOT, OTHER, "--rounds", "1"],
    "speed.two_versions": [
        *(ROOT, OTHER, "--what", "fit-small", "predict-query"),
        *("--scale", "0.002", "--repetitions", "1"),
    ],
}
NEEDS = {
    "speed.dask_fit": ("distributed",),
    "speed.spark_and_ray": ("pyspark", "pyarrow", "ray"),
    "speed.cluster_growth": ("distributed",),
    "speed.larger_than_memory": ("distributed", "psutil"),
}

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"),
    reason="memory is measured as Linux reports it",
)


def run(*arguments: str | Path) -> str:
    compiled = {k: v for k, v in os.environ.items() if k != "NUMBA_DISABLE_JIT"}
    process = subprocess.run(
        [sys.executable, *arguments],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=compiled,
        timeout=180,
    )
    return process.stdout


def scripts() -> list[Path]:
    """Return all scripts, without what only they use."""
    found = [path for path in FOLDER.glob("*/*.py") if path.parent.name != "tools"]
    return [path for path in found if not path.stem.endswith("_worker")]


def test_every_script_has_a_row_and_every_result_a_script():
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    names = sorted(path.name for path in scripts())
    assert sorted(re.findall(r"^\| `(\w+\.py)` \|", page, flags=re.M)) == names
    assert {path.stem + ".py" for path in FOLDER.glob("results/*")} <= set(names)


@pytest.mark.slow
def test_what_the_scripts_import_exists():
    modules = [f"benchmarks.{path.parent.name}.{path.stem}" for path in scripts()]
    run("-c", f"import importlib; [importlib.import_module(m) for m in {modules}]")


@pytest.mark.long
@pytest.mark.parametrize("script", COMMANDS)
def test_a_script_prints_the_versions_and_writes_json_lines(script, tmp_path):
    for package in NEEDS.get(script, ()):
        pytest.importorskip(package)
    other = tmp_path / "other"
    other.mkdir()
    (other / "sklearn_ltr").symlink_to(ROOT / "sklearn_ltr")
    given = [other if argument == OTHER else argument for argument in COMMANDS[script]]
    written = tmp_path / "results.jsonl"
    printed = run("-m", f"benchmarks.{script}", *given, "--json", written)
    assert "scikit-learn" in printed.splitlines()[0]
    records = [json.loads(line) for line in written.read_text().splitlines()]
    assert records
    assert {record["benchmark"] for record in records} == {script.partition(".")[2]}


def test_the_history_of_a_rating_is_that_before_its_session():
    pytest.importorskip("lightgbm")
    pd = pytest.importorskip("pandas")
    from benchmarks.clicks.real_logs import history

    table = pd.DataFrame(
        {
            "item": [1, 1, 2, 1, 1],
            "rating": [5.0, 1.0, 4.0, 2.0, 3.0],
            "start": [10, 10, 10, 12, 20],
            "timestamp": [10, 11, 11, 12, 20],
        }
    )
    found = history(table, ["item"])
    assert found["ratings"].tolist() == [0, 0, 0, 2, 3]
    assert found["mean"].round(3).tolist() == [3.5, 3.5, 3.5, 3.357, 3.188]


def test_the_tests_of_trec_eval_are_compared_number_by_number(
    tmp_path, monkeypatch, capsys
):
    from benchmarks.studies.trec_eval_tests import main

    files = {
        "Makefile": "quicktest: trec_eval\n"
        "\t./trec_eval -q -m map -mP.2 test/qrels test/run | diff - test/out\n"
        "\t./trec_eval -q -R jg test/qrels test/run | diff - test/out.jg\n",
        "test/qrels": "1 0 a 1\n1 0 b 0\n",
        "test/run": "1 Q0 a 1 2.0 t\n1 Q0 b 2 1.0 t\n",
        "test/out": "infAP\tall\t1.0000\nP_2 \tall\t0.5000\n"
        "map\t1\t1.0000\nmap\tall\t0.9000\n",
        "test/out.jg": "map\tall\t1.0000\n",
    }
    (tmp_path / "test").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(sys, "argv", ["", str(tmp_path)])
    assert main() == 1
    printed = capsys.readouterr().out
    assert "test/out: map all: 0.9000, ours 1.0000" in printed
    assert "test/out: 2 equal, 1 of unknown measures" in printed
    assert "test/out.jg: not possible, -q -R jg test/qrels test/run" in printed
    assert "2 numbers are equal, 1 differ" in printed
    assert "unknown to the command line: infAP" in printed


def test_what_is_said_of_the_quality_of_blends_is_stored():
    from benchmarks.tables import DATA, OURS, UNSEEN, per_query

    blend, bag, cat = f"{OURS} blended", f"{OURS} bagged", "CatBoost symmetric"

    def is_level(differences):
        return abs(differences.mean()) < 2 * sem(differences)

    def over_all(values, one):
        return np.concatenate([values[one, d] - values[cat, d] for d in DATA])

    values = per_query()
    peers = {library for library, _ in values if not library.startswith(OURS)}
    for data in DATA:
        best = max(values[peer, data].mean() for peer in peers)
        assert values[blend, data].mean() > best
    gain = over_all(values, blend)
    assert gain.mean() > 2 * sem(gain)
    assert gain.mean() > max(over_all(values, one).mean() for one in (OURS, bag))
    of_one = over_all(values, OURS)
    assert of_one.mean() > 0 and is_level(of_one)
    for one in (OURS, blend):
        unseen = values[one, UNSEEN] - values[cat, UNSEEN]
        assert unseen.mean() > 0 and is_level(unseen)
    chosen = per_query("chosen")
    assert all(is_level(over_all(chosen, one)) for one in (OURS, bag, blend))


def test_the_caption_of_the_picture_of_the_readme_is_stored():
    """The number of test queries, and two standard errors of differences from ours."""
    from benchmarks.tables import OURS, grouped, records

    last = {
        library: np.concatenate([r["last"] for r in runs])
        for library, runs in grouped(
            sorted(records("tuning"), key=itemgetter("fold")), "library"
        ).items()
    }
    assert {len(values) for values in last.values()} == {1046}
    ours = [library for library in last if library.startswith(OURS)]
    errors = {
        round(2 * sem(last[one] - last[other]), 3)
        for one in ours
        for other in last.keys() - set(ours)
    }
    assert errors == {0.006, 0.007}
    caption = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "1,046 test queries" in caption and "0.006 to 0.007" in caption


def test_what_is_said_of_the_speed_of_fits_is_stored():
    """At most a third of the time of any other, on both kinds of CPU."""
    from benchmarks.tables import OURS, fits_by_cpu, middle

    fits = [of for preset in "ab" for of in fits_by_cpu(preset).values()]
    assert len(fits) == 4
    for of in fits:
        others = [runs for library, runs in of.items() if not library.startswith(OURS)]
        fastest = min(middle(runs, "seconds") for runs in others)
        assert fastest > 3 * middle(of[OURS], "seconds")


def test_what_is_said_of_the_speed_of_one_and_two_workers_is_stored():
    from benchmarks.tables import OURS, grouped, records

    fits = grouped(records("dask_fit"), "preset", "parquet", "workers")
    few = [
        {r["library"]: r["seconds"] for r in runs}
        for (*_, n_workers), runs in fits.items()
        if n_workers < 3
    ]
    assert len(few) == 5
    assert all(2.75 < of["LightGBM"] / of[OURS] < 4.35 for of in few)
    assert all(1.35 < of[OURS] / of["one process"] < 1.65 for of in few)


def test_the_tables_of_the_page_are_those_of_the_stored_results():
    from benchmarks.tables import PAGES, with_tables

    pages = [page.read_text(encoding="utf-8") for page in PAGES]
    assert [with_tables(page) for page in pages] == pages
