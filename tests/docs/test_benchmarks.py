"""Each script that measures time runs, at a tiny size, and writes its results."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TINY = ["--preset", "small", "--repetitions", "1"]
OURS = ["--libraries", "sklearn_ltr"]
SETTINGS = ["defaults", "noise on X", "quantiles of X", "smooth clipping"]
COMMANDS = {
    "fit.py": [*TINY, *OURS],
    "clicks_protocol.py": [
        *("--queries", "20", "--sessions", "300", "--seeds", "1"),
        *("--users", "dbn", "--strengths", "1", "--methods"),
        *("naive", "additive", "pairwise", "true propensities"),
    ],
    "clicks_judges.py": ["--made", "40", "--sessions", "4500", "--seeds", "1"],
    "categories.py": [*TINY, *OURS, "--encodings"],
    "budget.py": ["--made", "8", "--candidates", "2"],
    "search_budget.py": ["--made", "30", "--seconds", "2", *OURS],
    "pairs.py": ["--made", "20", "--hours", "0.1", "--seeds", "1", "--error", "0"],
    "calibration.py": ["--made", "30", "--rankers", "LambdaMARTRanker"],
    "several_labels.py": ["--shop", "40"],
    "dask_fit.py": [*TINY, *OURS, "--workers", "2"],
    "cluster_growth.py": ["--measured-rows", "2000", "--trees", "2"],
    "larger_than_memory.py": [
        *("--gigabytes", "0.01", "--partition-rows", "3000", "--trees", "2"),
        *("--threads", "1", "--check"),
    ],
    "predict.py": [*TINY, *OURS, "--rows", "100", "--threads", "1"],
    "explain.py": [*TINY, *OURS, "--rows", "100", "--threads", "1"],
    "learning_curves.py": [
        *("--made", "10", "--sizes", "20", "40", "--seeds", "1"),
        *("--libraries", "sklearn_ltr", "subsample=1"),
    ],
    "dart.py": [
        *("--made", "20", "--trees", "3", "--settings", "1", "--seeds", "1"),
        *("--libraries", "sklearn_ltr"),
    ],
    "smallest_leaf.py": ["--made", "10", "--sizes", "2", "--seeds", "2"],
    "networks.py": [
        "--made",
        "--queries",
        "30",
        "--seeds",
        "2",
        "--settings",
        *SETTINGS,
    ],
    "propensities.py": ["--queries", "20", "--sessions", "1000", "--seeds", "1"],
    "scaling.py": ["--presets", "small", "--threads", "1", *TINY[2:], *OURS],
    "sparse_tables.py": [
        "--tables",
        "tiny",
        "--repetitions",
        "1",
        "--threads",
        "1",
        *OURS,
    ],
    "shapes.py": ["--shapes", "tiny", "--repetitions", "1", "--threads", "1", *OURS],
    "soak.py": ["--fits", "12", "--predictions", "100", "--interrupts", "2"],
    "what_works_where.py": [*OURS, "--features", "query ids"],
    "startup.py": ["--imports", ROOT, "--rounds", "1"],
    "two_versions.py": [
        *(ROOT, ROOT, "--what", "fit-small", "predict-query"),
        *("--scale", "0.002", "--repetitions", "1"),
    ],
}
NEEDS = {
    "dask_fit.py": ("distributed",),
    "cluster_growth.py": ("distributed",),
    "larger_than_memory.py": ("distributed", "psutil"),
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
        cwd=ROOT / "benchmarks",
        env=compiled,
        timeout=180,
    )
    return process.stdout


@pytest.fixture
def in_this_process(monkeypatch):
    """Run code in the folder of the scripts, whose modules are forgotten afterwards."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    yield lambda code: exec(code, {"__name__": "code"})
    for name in sys.modules.keys() - before:
        file = getattr(sys.modules[name], "__file__", None) or ""
        if Path(file).parent == ROOT / "benchmarks":
            del sys.modules[name]


@pytest.mark.slow
def test_what_the_scripts_import_exists():
    run("-c", f"for name in {[Path(name).stem for name in COMMANDS]}: __import__(name)")


@pytest.mark.long
@pytest.mark.parametrize("script", COMMANDS)
def test_a_script_prints_the_versions_and_writes_json_lines(script, tmp_path):
    for package in NEEDS.get(script, ()):
        pytest.importorskip(package)
    written = tmp_path / "results.jsonl"
    printed = run(script, *COMMANDS[script], "--json", written)
    assert "scikit-learn" in printed.splitlines()[0]
    records = [json.loads(line) for line in written.read_text().splitlines()]
    assert records
    assert {record["benchmark"] for record in records} == {Path(script).stem}


def test_the_history_of_a_rating_is_that_before_its_session(in_this_process):
    pytest.importorskip("lightgbm")
    in_this_process("""
import pandas as pd
from real_logs import history
table = pd.DataFrame({
    "item": [1, 1, 2, 1, 1],
    "rating": [5.0, 1.0, 4.0, 2.0, 3.0],
    "start": [10, 10, 10, 12, 20],
    "timestamp": [10, 11, 11, 12, 20],
})
found = history(table, ["item"])
assert found["ratings"].tolist() == [0, 0, 0, 2, 3]
assert found["mean"].round(3).tolist() == [3.5, 3.5, 3.5, 3.357, 3.188]
""")


def test_the_tests_of_trec_eval_are_compared_number_by_number(
    in_this_process, tmp_path, monkeypatch, capsys
):
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
    in_this_process("from trec_eval_tests import *; print(main())")
    printed = capsys.readouterr().out
    assert "test/out: map all: 0.9000, ours 1.0000" in printed
    assert "test/out: 2 equal, 1 of unknown measures" in printed
    assert "test/out.jg: not possible, -q -R jg test/qrels test/run" in printed
    assert "2 numbers are equal, 1 differ" in printed
    assert "unknown to the command line: infAP" in printed
    assert printed.endswith("1\n")


def test_what_is_said_of_the_quality_of_blends_is_stored(in_this_process):
    in_this_process(
        "from tables import *; values = per_query(); "
        "peers = {library for library, _ in values if not library.startswith(OURS)}; "
        "blend = f'{OURS} blended'; cat = 'CatBoost symmetric'; "
        "assert all(values[blend, data].mean() > values[other, data].mean() "
        "for data in DATA for other in peers); "
        "join = lambda one: np.concatenate([values[one, d] - values[cat, d] for d in "
        "DATA]); assert join(blend).mean() > 2 * sem(join(blend)); "
        "others = (OURS, f'{OURS} bagged'); "
        "assert join(blend).mean() > max(join(other).mean() for other in others); "
        "assert 0 < join(OURS).mean() < 2 * sem(join(OURS)); "
        "unseen = lambda one: values[one, UNSEEN] - values[cat, UNSEEN]; "
        "assert all(0 < unseen(one).mean() < 2 * sem(unseen(one)) "
        "for one in (OURS, blend)); "
        "values = per_query('chosen'); "
        "assert all(abs(join(one).mean()) < 2 * sem(join(one)) for one in "
        "(OURS, f'{OURS} bagged', blend))",
    )


def test_the_caption_of_the_picture_of_the_readme_is_stored():
    """The number of test queries, and two standard errors of differences from ours."""
    run(
        "-c",
        "from tables import *; last = {}; "
        "[last.setdefault(r['library'], []).extend(r['last']) "
        "for r in sorted(records('tuning'), key=lambda r: r['fold'])]; "
        "values = {one: np.array(each) for one, each in last.items()}; "
        "assert {len(each) for each in values.values()} == {1046}; "
        "ours = [one for one in values if one.startswith(OURS)]; "
        "errors = [2 * sem(values[one] - values[other]) for one in ours "
        "for other in values if other not in ours]; "
        "assert {round(error, 3) for error in errors} == {0.006, 0.007}; "
        "caption = (DOCS.parent / 'README.md').read_text(encoding='utf-8'); "
        "assert '1,046 test queries' in caption and '0.006 to 0.007' in caption",
    )


def test_what_is_said_of_the_speed_of_fits_is_stored(in_this_process):
    """At most a third of the time of any other, on both kinds of CPU."""
    in_this_process(
        "from tables import *; fits = [of for preset in 'ab' for of in "
        "fits_by_cpu(preset).values()]; assert len(fits) == 4; "
        "assert all(middle(runs, 'seconds') > 3 * middle(of[OURS], 'seconds') "
        "for of in fits for library, runs in of.items() "
        "if not library.startswith(OURS))",
    )


def test_what_is_said_of_the_speed_of_one_and_two_workers_is_stored(in_this_process):
    in_this_process(
        "from tables import *; fits = {}; "
        "[fits.setdefault((r['preset'], r['parquet'], r['workers']), {})"
        ".update({r['library']: r['seconds']}) for r in records('dask_fit')]; "
        "few = [of for (*_, n), of in fits.items() if n < 3]; assert len(few) == 5; "
        "assert all(2.75 < of['LightGBM'] / of[OURS] < 4.35 for of in few); "
        "assert all(1.35 < of[OURS] / of['one process'] < 1.65 for of in few)",
    )


def test_the_tables_of_the_page_are_those_of_the_stored_results(in_this_process):
    in_this_process(
        "from tables import *; pages = [page.read_text() for page in PAGES]; "
        "assert [with_tables(page) for page in pages] == pages",
    )
