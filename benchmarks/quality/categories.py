"""Categorical features beside LightGBM and CatBoost: quality, and seconds of a fit.

    python -m benchmarks.quality.categories --preset a
    python -m benchmarks.quality.categories --preset a --data python_names
    python -m benchmarks.quality.categories --preset a --libraries sklearn_ltr LightGBM

Data of ``--data made`` are made by `make_ranking` with 136 columns, the last five of
which are replaced by categorical features of 10 to 10,000 values.  Values are drawn by
a power law, so that most of the many are rare, and each has an effect of its own on the
grades.  ``--data python_names`` are real, see ``python_names.py``.

Every library gets the categories as such.  With ``--encodings`` also: with pairs of
categorical features as further ones, all or chosen by `CategoryPairs`; as plain
numbers; the most frequent ones of each column as columns of their own (one-hot); not at
all.
CatBoost makes such combinations itself, and runs once without.  The number of
trees is the one with the highest NDCG@10 of validation queries.  Printed is NDCG@10 of
test queries, whose rare categories may be new, the difference to ours, and in brackets
the standard error of this difference over all test queries.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.preprocessing import OneHotEncoder

from benchmarks.tools import peers
from benchmarks.tools.measuring import in_turns
from benchmarks.tools.paired import paired, with_error
from benchmarks.tools.peers import OURS, THREADS, ScoresAfter, Settings
from benchmarks.tools.python_names import python_names
from benchmarks.tools.queries import Part, made_like_mslr
from benchmarks.tools.records import append_json, machine, parser_of
from sklearn_ltr.preprocessing import CategoryPairs

SIZES = (10, 100, 1000, 3000, 10_000)
# Queries of training, validation and test; settings.
PRESETS = {
    "small": ((40, 10, 20), Settings(n_estimators=20)),
    "b": ((800, 200, 500), Settings(n_estimators=300)),
    "a": ((2000, 300, 500), Settings(n_estimators=300)),
}
# So many times more queries: they have 40 rows, not 122.
MORE_QUERIES = 4
STOP_STEP = 20
GRADE_SHARES = (0.5, 0.8, 0.93, 0.98)  # quantiles where the grades 1 to 4 begin
ONE_HOT_COLUMNS = 50  # for each categorical feature


def made(n_queries: int, seed: int):
    """Return X, y and groups; X is a frame with categories."""
    numbers, grades, groups = made_like_mslr(n_queries, seed, dtype="float64")
    rng, n_rows = np.random.default_rng(seed), len(grades)
    X = pd.DataFrame(numbers).add_prefix("x")
    latent = grades + rng.normal(scale=0.3, size=n_rows)
    for name, size in zip(X.columns[-len(SIZES) :], SIZES, strict=True):
        # the k-th most frequent value has a share of about 1 / (k + 10); its number is
        # drawn
        share = 1.0 / (np.arange(size) + 10)
        codes = rng.choice(rng.permutation(size), n_rows, p=share / share.sum())
        latent += rng.normal(scale=0.5, size=size)[codes]
        X[name] = pd.Categorical.from_codes(codes, np.arange(size))
    y = np.digitize(latent, np.quantile(latent, GRADE_SHARES))
    return X, y, groups


read_python_names = cache(python_names)


def make_parts(data: str, preset: str, seed: int):
    """Return the parts for training, validation and test."""
    sizes = np.array(PRESETS[preset][0])
    if data == "made":
        X, y, groups = made(sizes.sum(), seed)
    else:
        sizes *= MORE_QUERIES
        X, y, groups = read_python_names(2 * sizes.sum())
    query_of_row = np.unique(groups, return_inverse=True)[1]
    n_queries = query_of_row.max() + 1
    order = np.arange(n_queries)
    if data != "made":  # other test queries for each seed, as long as there are some
        order = np.roll(order, -seed * sizes[2])
    part = np.full(n_queries, -1)
    part[order[-sizes[2] :]] = 2
    part[order[: sizes[0]]] = 0
    part[order[sizes[0] : sizes[0] + sizes[1]]] = 1
    every = Part(X, y, query_of_row)
    return [every.subset(part[query_of_row] == number) for number in range(3)]


def categorical(X: pd.DataFrame) -> list[str]:
    return list(X.select_dtypes("category").columns)


def codes(X: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """Return X with the numbers of its categories, the same in all parts."""
    return X.assign(**{name: X[name].cat.codes.astype(np.int64) for name in names})


def as_numbers(X: pd.DataFrame) -> np.ndarray:
    return codes(X, categorical(X)).to_numpy(np.float32)


def without_categories(X: pd.DataFrame) -> np.ndarray:
    return X.drop(columns=categorical(X)).to_numpy(np.float32)


def fit_encoded(X, y, groups, settings: Settings, fit, encode) -> ScoresAfter:
    scores_after = fit(encode(X), y, groups, settings)
    return lambda X, stops: scores_after(encode(X), stops)


def fit_one_hot(X, y, groups, settings: Settings) -> ScoresAfter:
    """Columns of the most frequent categories, and of all others together."""
    encoder = OneHotEncoder(
        max_categories=ONE_HOT_COLUMNS,
        handle_unknown="infrequent_if_exist",
        sparse_output=False,
        dtype=np.float32,
    )
    table = make_column_transformer(
        (encoder, categorical(X)), remainder="passthrough"
    ).fit(codes(X, categorical(X)))

    def encode(X):
        return table.transform(codes(X, categorical(X))).astype(np.float32)

    return fit_encoded(X, y, groups, settings, peers.fit_sklearn_ltr, encode)


def fit_with_pairs(
    X, y, groups, settings: Settings, fit, *, choose: bool = True
) -> ScoresAfter:
    """Fit with pairs of categorical features as further ones, chosen or all."""
    pairs = CategoryPairs().fit(X, y, groups=groups)
    if not choose:
        pairs.pairs_ = list(pairs.gains_)
    table = pairs.transform(X)
    known = {name: table[name].cat.categories for name in table.columns[X.shape[1] :]}

    def encode(X):
        table = pairs.transform(X)
        same = {n: table[n].cat.set_categories(values) for n, values in known.items()}
        return table.assign(**same)  # LightGBM takes the numbers of the categories

    return fit_encoded(X, y, groups, settings, fit, encode)


def fit_lightgbm(X, y, groups, settings: Settings) -> ScoresAfter:
    columns = [X.columns.get_loc(name) for name in categorical(X)]
    fit = partial(peers.fit_lightgbm, categorical_feature=columns)
    return fit_encoded(X, y, groups, settings, fit, as_numbers)


def fit_catboost(X, y, groups, settings: Settings, **options) -> ScoresAfter:
    import catboost

    def pool(X, **more):
        names = categorical(X)
        return catboost.Pool(codes(X, names), cat_features=names, **more)

    parameters = peers.catboost_parameters(settings) | options
    parameters["depth"] = peers.symmetric_depth(settings)
    model = catboost.CatBoost(parameters).fit(pool(X, label=y, group_id=groups))

    def scores_after(X, stops):
        table = pool(X)
        return [model.predict(table, ntree_end=stop) for stop in stops]

    return scores_after


def with_table(fit: Callable, encode: Callable) -> Callable:
    return partial(fit_encoded, fit=fit, encode=encode)


FITS: dict[str, Callable] = {
    OURS: peers.fit_sklearn_ltr,
    "LightGBM": fit_lightgbm,
    "CatBoost symmetric": fit_catboost,
    f"{OURS}, CategoryPairs": partial(fit_with_pairs, fit=peers.fit_sklearn_ltr),
    f"{OURS}, all pairs": partial(
        fit_with_pairs, fit=peers.fit_sklearn_ltr, choose=False
    ),
    "LightGBM, all pairs": partial(fit_with_pairs, fit=fit_lightgbm, choose=False),
    "CatBoost symmetric, no pairs": partial(fit_catboost, max_ctr_complexity=1),
    f"{OURS}, one-hot": fit_one_hot,
    f"{OURS}, numbers": with_table(peers.fit_sklearn_ltr, as_numbers),
    "LightGBM, numbers": with_table(peers.fit_lightgbm, as_numbers),
    f"{OURS}, without": with_table(peers.fit_sklearn_ltr, without_categories),
    "LightGBM, without": with_table(peers.fit_lightgbm, without_categories),
}


def test_values(scores_after: ScoresAfter, validation, test, n_estimators: int):
    """Return NDCG@10 of each test query, and the number of trees that was chosen."""
    stops = range(STOP_STEP, n_estimators + 1, STOP_STEP)
    values = [validation.ndcg(s).mean() for s in scores_after(validation.X, stops)]
    n_trees = stops[int(np.argmax(values))]
    (scores,) = scores_after(test.X, [n_trees])
    return test.ndcg(scores), n_trees


def compare(arguments: argparse.Namespace) -> list[dict]:
    """Fit every library on data of each seed; return seconds and NDCG@10."""
    settings = replace(PRESETS[arguments.preset][1], n_threads=arguments.threads)
    names = [name for name in FITS if name.split(",")[0] in arguments.libraries]
    if not arguments.encodings:
        names = [name for name in names if "," not in name]
    records = []
    for seed in range(arguments.repetitions):
        train, validation, test = make_parts(arguments.data, arguments.preset, seed)
        for name in names if seed == 0 else ():  # warm up
            FITS[name](*train, replace(settings, n_estimators=2))
        calls = {name: partial(FITS[name], *train, settings) for name in names}
        for name, seconds, scores_after in in_turns(calls, 1):
            values, n_trees = test_values(
                scores_after, validation, test, settings.n_estimators
            )
            result = {"seconds": seconds, "trees": n_trees, "ndcg@10": values.tolist()}
            records.append({"library": name, "seed": seed, **result})
    return records


def summaries(records: list[dict]) -> list[dict]:
    """Return means over seeds and queries of each library, and differences to ours."""
    table = pd.DataFrame(records)
    found, ours = [], None
    for name, rows in table.groupby("library", sort=False):
        values = np.concatenate(rows["ndcg@10"].to_list())
        summary = {"library": name, "seeds": rows["seed"].to_list()}
        summary |= {"seconds": rows["seconds"].median(), "queries": len(values)}
        summary |= {"trees": rows["trees"].to_list(), "ndcg@10": values.mean()}
        if name == OURS:
            ours = values
        elif ours is not None:
            summary |= zip(("difference", "error"), paired(values, ours), strict=True)
        found.append(summary)
    return found


def print_table(table: list[dict]) -> None:
    """Print seconds, trees, NDCG@10 and its difference to ours."""
    print(f"{'':30}{'seconds':>9}{'trees':>7}{'NDCG@10':>9}{'minus ours':>20}")
    for r in table:
        row = f"{r['library']:30}{r['seconds']:9.2f}{np.median(r['trees']):7.0f}"
        row += f"{r['ndcg@10']:9.4f}"
        if "difference" in r:
            row += f"{with_error(r['difference'], r['error']):>22}"
        print(row)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--preset", choices=PRESETS, default="small")
    parser.add_argument("--data", choices=("made", "python_names"), default="made")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--threads", type=int, default=THREADS)
    parser.add_argument(
        "--encodings", action="store_true", help="also other ways to give categories"
    )
    libraries = [name for name in FITS if "," not in name]
    peers.add_libraries(parser, libraries)
    arguments = parser.parse_args()

    print(machine())
    table = summaries(compare(arguments))
    print_table(table)
    about = {name: getattr(arguments, name) for name in ("preset", "data", "threads")}
    append_json(arguments.json, [about | summary for summary in table])


if __name__ == "__main__":
    main()
