"""Score our exported models by the classes of a search engine, in a checkout of it.

    git clone https://github.com/opensearch-project/opensearch-learning-to-rank-base
    python -m benchmarks.studies.engines \
        opensearch-learning-to-rank-base "opensearch 3.8"

FOLDER is a checkout of this plugin, of Elasticsearch's (o19s's
elasticsearch-learning-to-rank), of Solr, or of RankLib (o19s's RankyMcRankFace); then
the second argument is "elasticsearch 9.0", "solr" or "ranklib".  The classes that read
and score a model are compiled, with `java/Stubs.java` in place of what they import from
elsewhere, and score rows half of whose numbers are thresholds, neighbours of
thresholds, zeros or missing.
For each model it prints how many scores have the bits of ours, for trees those of our
leaf values added in float32, and the largest difference from ``predict``, divided by
the largest score.  The status is 1 if a score of trees has other bits, or the engine
refuses a model (Solr before 9.2 refuses trees that know missing values).
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker
from sklearn_ltr.export import (
    from_tree_model,
    to_elasticsearch_ltr,
    to_ranklib,
    to_solr,
    to_tree_model,
)
from sklearn_ltr.export._tree_model import TreeModel
from sklearn_ltr.mart import MARTClassifier, MARTRegressor

JAVA = Path(__file__).parent / "java"
N_ROWS, N_FEATURES = 20_000, 6
NAMES = [f"Column_{j}" for j in range(N_FEATURES)]
PLUGIN = "src/main/java/com/o19s/es/ltr"
PLUGIN_CLASSES = (
    "ranker/*.java ranker/dectree/*.java ranker/linear/*.java ranker/normalizer/*.java "
    "ranker/parser/LtrRankerParser.java ranker/parser/LinearRankerParser.java "
    "ranker/parser/XGBoost*.java feature/store/*FeatureNorm*.java"
)
SOLR_CLASSES = (
    "model/LTRScoringModel.java model/ModelException.java model/LinearModel.java "
    "model/MultipleAdditiveTreesModel.java model/NeuralNetworkModel.java "
    "norm/*.java feature/FeatureException.java"
)


def compile_engine(folder: Path, engine: str, target: Path) -> str:
    """Compile the classes of an engine into a folder; return the class to run."""
    if engine == "solr":
        (root,) = folder.glob("solr/*/ltr/src/java/org/apache/solr/ltr")
        patterns, main = SOLR_CLASSES, "Solr"
    elif engine == "ranklib":
        root, patterns, main = folder / "src", "ciir/**/*.java", "RankLib"
    else:
        root, patterns, main = folder / PLUGIN, PLUGIN_CLASSES, "Plugin"
    stubs = (JAVA / "Stubs.java").read_text(encoding="utf-8")
    known = re.findall(r"^    public .*?(?:class|interface) (\w+)", stubs, re.M)
    an_import = rf"import (static )?[\w.]+\.({'|'.join(known)})\b"
    found = [path for pattern in patterns.split() for path in root.glob(pattern)]
    sources = [(path.name, path.read_text(encoding="utf-8")) for path in found]
    if engine == "solr":
        utils = "solr/core/src/java/org/apache/solr/util/SolrPluginUtils.java"
        text = (folder / utils).read_text(encoding="utf-8")
        sources.append(("SolrPluginUtils.java", setters(text)))
    written = [JAVA / name for name in ("Stubs.java", "Judge.java", f"{main}.java")]
    for number, (name, text) in enumerate(sources):
        path = target / str(number) / name
        path.parent.mkdir()
        path.write_text(
            re.sub(an_import, r"import \1judge.Stubs.\2", text), encoding="utf-8"
        )
        written.append(path)
    options = ["-nowarn", "-Xlint:none", "-encoding", "utf-8", "-d", str(target)]
    subprocess.run(["javac", *options, *map(str, written)], check=True)
    return f"judge.{main}"


def setters(text: str) -> str:
    """Return a class with the methods of Solr that give a model its parameters."""
    start = r"^  (?:public|private) static [^;{]*?\b(?:invokeSetters|findSetter)\("
    methods = re.findall(rf"{start}.*?^  }}", text, re.M | re.S)
    return "\n".join(
        [
            "package org.apache.solr.util;",
            *re.findall(r"^import java.*;$", text, re.M),
            "public class SolrPluginUtils {",
            *methods,
            "}",
        ]
    )


class Case(NamedTuple):
    """A model as we write it, rows, and their scores here."""

    label: str
    is_trees: bool
    body: Any  # of the request that uploads the model; text of RankLib's file
    rows: np.ndarray  # float32
    scores: np.ndarray
    bits: np.ndarray  # as the engine is to add them, in float32


def score_all(main: str, classes: Path, cases: list[Case]) -> list[np.ndarray | str]:
    """Return the engine's scores of each case; or its error."""
    folders = [classes / f"case{number}" for number in range(len(cases))]
    for folder, case in zip(folders, cases, strict=True):
        folder.mkdir()
        (folder / "body.json").write_text(json.dumps(case.body), encoding="utf-8")
        (folder / "names.json").write_text(json.dumps(NAMES), encoding="utf-8")
        (folder / "rows").write_bytes(case.rows.astype(">f4").tobytes())
    command = ["java", "-ea", "-Xss64m", "-cp", str(classes), main, *map(str, folders)]
    subprocess.run(command, check=True)
    return [
        (folder / "error").read_text(encoding="utf-8")
        if (folder / "error").exists()
        else np.fromfile(folder / "scores", dtype=">f4").astype(np.float32)
        for folder in folders
    ]


def training_data(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return X with missing values and zeros, y and groups."""
    rng = np.random.default_rng(seed)
    n = 6000
    X = rng.normal(size=(n, N_FEATURES))
    X[rng.random(n) < 0.3, 1] = 0.0
    X[:, 2] = rng.integers(-2, 3, n)
    X[:, 4] = rng.lognormal(0.0, 3.0, n)
    signal = X[:, 0] + (X[:, 1] == 0) + X[:, 2] ** 2 / 2 + np.log(X[:, 4]) / 3
    X[rng.random(X.shape) < 0.2] = np.nan
    signal += np.isnan(X[:, 3]) - np.isnan(X[:, 0]).astype(float)
    X = X.astype(np.float32).astype(np.float64)
    return X, np.clip(np.floor(signal), 0, 3), np.repeat(np.arange(n // 20), 20)


def tree_models() -> dict[str, Any]:
    """Return fitted models of trees, by name."""
    X, y, groups = training_data()
    leaves = {"max_leaf_nodes": 16, "random_state": 0}
    zero = SimpleImputer(strategy="constant", fill_value=0)
    rankers = {
        "one tree": LambdaMARTRanker(n_estimators=1, **leaves),
        "50 trees": LambdaMARTRanker(n_estimators=50, **leaves),
        "300 symmetric trees": LambdaMARTRanker(
            n_estimators=300, grow_policy="symmetric", **leaves
        ),
    }
    imputed = make_pipeline(zero, LambdaMARTRanker(n_estimators=50, **leaves))
    return {
        **{name: model.fit(X, y, groups=groups) for name, model in rankers.items()},
        "regressor": MARTRegressor(n_estimators=50, **leaves).fit(X, y),
        "classifier": MARTClassifier(n_estimators=50, **leaves).fit(X, y > 1),
        "imputer of 0": imputed.fit(X, y, lambdamartranker__groups=groups),
    }


def network_models(engine: str) -> dict[str, Any]:
    """Return fitted networks that an engine knows, by name."""
    if engine == "ranklib":
        return {}
    X, y, groups = training_data()
    X[:, 4] = np.log(X[:, 4])
    models = {}
    for name, scaler, units, activation in (
        ("linear", None, (), "relu"),
        ("linear, standardized", StandardScaler(), (), "relu"),
        ("linear, min and max", MinMaxScaler(), (), "relu"),
        ("network, relu", StandardScaler(), (8, 4), "relu"),
        ("network, tanh", StandardScaler(), (8,), "tanh"),
        ("network, logistic", None, (8,), "logistic"),
    ):
        if units and engine != "solr":
            continue
        ranker = LambdaRankRanker(
            hidden_layer_sizes=units, activation=activation, max_iter=3, random_state=0
        )
        zero = SimpleImputer(strategy="constant", fill_value=0)
        model = make_pipeline(zero, scaler, ranker)
        models[name] = model.fit(X, y, lambdarankranker__groups=groups)
    return models


def rows_of(trees: TreeModel | None) -> np.ndarray:
    """Return rows of float32, half of them thresholds, neighbours, zeros or NaN."""
    rng = np.random.default_rng(1)
    X = training_data(seed=1)[0][rng.integers(0, 6000, N_ROWS)].astype(np.float32)
    if trees is None:
        X[:, 4] = np.log(X[:, 4])
    for j in range(N_FEATURES):
        t = np.zeros(1) if trees is None else thresholds(trees, j)
        near = np.float32(t[np.abs(t) < 1e38])
        sides = [np.nextafter(near, np.float32(side)) for side in (np.inf, -np.inf)]
        near = np.concatenate([near, *sides, np.float32([0.0, -0.0, np.nan])])
        chosen = rng.random(N_ROWS) < 0.5
        X[chosen, j] = rng.choice(near, chosen.sum())
    return X


def thresholds(trees: TreeModel, feature: int) -> np.ndarray:
    """Return the thresholds of a feature."""
    return np.concatenate([t.threshold[t.feature == feature] for t in trees.trees])


def float32_sum(trees: TreeModel, X: np.ndarray) -> np.ndarray:
    """Return the sum of the leaf values of our trees, added in float32."""
    if trees.estimator == "MARTClassifier":
        trees = trees.scaled(2 * trees.sigma)
    trees = trees.with_base_score_in_leaves()
    total = np.zeros(len(X), dtype=np.float32)
    for tree in trees.trees:
        one = replace(
            trees,
            estimator="MARTRegressor",
            parameters={},
            trees=(tree,),
            classes=None,
            training=None,
        )
        total += from_tree_model(one).predict(X).astype(np.float32)
    return total


def tree_case(engine: str, name: str, model: Any, missing: str) -> Case:
    """Write a model of trees for an engine, and score its rows here."""
    trees = to_tree_model(model)
    rows = rows_of(trees)
    as_zero = np.where(np.isnan(rows), np.float32(0), rows)
    X = (as_zero if missing == "zero" else rows).astype(np.float64)
    if engine == "solr" and missing == "zero":
        rows = as_zero  # of features without `defaultValue`
    bits = float32_sum(trees, X)
    if trees.classes is None:
        scores = model.predict(X)
    elif engine in ("solr", "ranklib"):
        scores = 2 * trees.sigma * model.decision_function(X)
    else:
        scores = model.predict_proba(X)[:, 1]
        bits = (1 / (1 + np.exp(-bits.astype(np.float64)))).astype(np.float32)
    body = write(engine, model, missing)
    return Case(f"{name}, {missing}", True, body, rows, scores, bits)


def network_case(engine: str, name: str, model: Any) -> Case:
    """Write a network for an engine, and score its rows here."""
    rows = rows_of(None)
    as_zero = np.where(np.isnan(rows), np.float32(0), rows)
    scores = model.predict(as_zero.astype(np.float64))
    rows = as_zero if engine == "solr" else rows
    body = write(engine, model, "branch")
    return Case(name, False, body, rows, scores, scores.astype(np.float32))


def write(engine: str, model: Any, missing: str) -> Any:
    """Return a model as an engine reads it."""
    if engine == "ranklib":
        return to_ranklib(model, missing="error" if missing == "branch" else missing)
    if engine == "solr":
        return to_solr(model, name="m", missing=missing)[-1].body
    given = {"name": "m", "feature_set": "f", "missing": missing, "engine": engine}
    return to_elasticsearch_ltr(model, **given)[-1].body


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="a checkout of the engine's classes")
    parser.add_argument(
        "engine",
        help='what the models are written for, such as "opensearch 3.5"; solr; ranklib',
    )
    given = parser.parse_args()
    cases = []
    for name, model in tree_models().items():
        for missing in ("branch", "zero"):
            try:
                cases.append(tree_case(given.engine, name, model, missing))
            except ValueError as error:
                print(f"{name}, {missing}: not written, {str(error).partition(':')[0]}")
    for name, model in network_models(given.engine).items():
        cases.append(network_case(given.engine, name, model))
    with tempfile.TemporaryDirectory() as folder:
        compiled = compile_engine(given.folder, given.engine, Path(folder))
        found = score_all(compiled, Path(folder), cases)
    n_wrong = 0
    for case, scores in zip(cases, found, strict=True):
        if isinstance(scores, str):
            n_wrong += 1
            print(f"{case.label}: refused by the engine: {scores}")
            continue
        n_equal = int((scores == case.bits).sum())
        n_wrong += case.is_trees and n_equal < len(scores)
        off = np.abs(scores - case.scores).max() / np.abs(case.scores).max()
        print(f"{case.label:28}{n_equal:6} of {len(scores)} equal, {off:.1e} off")
    return int(n_wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
