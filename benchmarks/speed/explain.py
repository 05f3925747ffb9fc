"""Time of SHAP values of the same trees, side by side.

    python -m benchmarks.speed.explain --preset 31 --rows 10000 100
    python -m benchmarks.speed.explain --preset 31 --rows 1000 --background 100
    python -m benchmarks.speed.explain --preset 255 \
        --libraries sklearn_ltr LightGBM shap

LightGBM trains one ensemble; every library explains it, by its public Python interface:
our ranker is given the trees of LightGBM, with their numbers of training rows. Without
`--background` the values are path-dependent, with it interventional, which LightGBM has
not. All values are compared: they must agree. Preparation counts for all (the explainer
of a library is made in the call that is timed). The package shap has one thread, and
woodelf takes too long for trees as deep as those of preset 255.

shap, fasttreeshap and woodelf take part where they are installed:

    python -m pip install shap fasttreeshap-fixed woodelf-explainer
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from itertools import product

import numpy as np

from benchmarks.speed.predict import SMALL_STEP, measured, new_rows, print_table
from benchmarks.tools import peers
from benchmarks.tools.measuring import take_turns
from benchmarks.tools.peers import OURS, Settings
from benchmarks.tools.queries import made_like_mslr
from benchmarks.tools.records import append_json, machine, parser_of
from sklearn_ltr.export import from_lightgbm
from sklearn_ltr.inspection import shap_values

Explain = Callable[[np.ndarray], np.ndarray]

PRESETS = {
    "small": (20, Settings(n_estimators=10, max_leaf_nodes=8, **SMALL_STEP)),
    "31": (100, Settings(n_estimators=100, max_leaf_nodes=31, **SMALL_STEP)),
    "255": (100, Settings(n_estimators=100, max_leaf_nodes=255, **SMALL_STEP)),
}
# with a background shap differs from the definition by about 1e-8
TOLERANCE = {"rtol": 1e-4, "atol": 1e-6}
PACKAGES = ("shap", "fasttreeshap-fixed", "woodelf-explainer")


def of_sklearn_ltr(booster, background, n_threads: int) -> Explain:
    ranker = from_lightgbm(booster).set_params(n_jobs=n_threads)
    return lambda X: shap_values(ranker, X, background=background).values


def of_lightgbm(booster, background, n_threads: int) -> Explain:
    if background is not None:
        raise ValueError("has path-dependent values only")
    options = {"pred_contrib": True, "num_threads": n_threads}
    return lambda X: booster.predict(X, **options)[:, :-1]


def of_shap(booster, background, n_threads: int) -> Explain:
    from shap import TreeExplainer

    return lambda X: TreeExplainer(booster, background).shap_values(
        X, check_additivity=False
    )


def of_fasttreeshap(booster, background, n_threads: int, algorithm: str) -> Explain:
    from fasttreeshap_fixed import TreeExplainer

    if background is not None:
        raise ValueError("is faster than shap for path-dependent values only")
    options = {"algorithm": algorithm, "n_jobs": n_threads}
    return lambda X: TreeExplainer(booster, **options).shap_values(
        X, check_additivity=False
    )


def of_woodelf(booster, background, n_threads: int) -> Explain:
    import pandas as pd
    from woodelf import WoodelfExplainer

    names = booster.feature_name()
    other = None if background is None else pd.DataFrame(background, columns=names)
    return lambda X: WoodelfExplainer(booster, other).shap_values(
        pd.DataFrame(X, columns=names), verbose=False
    )


LIBRARIES = {
    OURS: of_sklearn_ltr,
    "LightGBM": of_lightgbm,
    "shap": of_shap,
    "fasttreeshap v1": partial(of_fasttreeshap, algorithm="v1"),
    "fasttreeshap v2": partial(of_fasttreeshap, algorithm="v2"),
    "woodelf": of_woodelf,
}


def working(
    names: list[str], booster, X: np.ndarray, background, n_threads: int
) -> dict[str, Explain]:
    """Return the calls; print which libraries do not work, and why."""
    calls: dict[str, Explain] = {}
    expected = None
    for name in names:
        try:
            call = LIBRARIES[name](booster, background, n_threads)
            values = np.asarray(call(X))
        except Exception as error:  # any error of another library
            print(f"{name} left out: {type(error).__name__}: {error}"[:200])
            continue
        expected = values if expected is None else expected
        np.testing.assert_allclose(values, expected, **TOLERANCE, err_msg=name)
        calls[name] = call
    return calls


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--preset", choices=PRESETS, default="small")
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100])
    parser.add_argument("--background", type=int, help="background rows")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repetitions", type=int, default=5)
    peers.add_libraries(parser, [*LIBRARIES])
    arguments = parser.parse_args()

    warnings.simplefilter("ignore")  # of other libraries
    print(machine(more=PACKAGES))
    n_queries, settings = PRESETS[arguments.preset]
    train = made_like_mslr(n_queries)
    booster = peers.train_lightgbm(*train, settings)
    # what all libraries convert without rounding
    X = new_rows(max(arguments.rows)).astype(np.float64)
    background = None
    if arguments.background is not None:
        background = train.X[: arguments.background].astype(np.float64)
    about = {"preset": arguments.preset, "background": arguments.background}
    for n_rows, n_threads in product(arguments.rows, arguments.threads):
        print(f"\n{n_rows:,} x {X.shape[1]} float64, {settings}")
        print(f"background rows: {arguments.background}, threads: {n_threads}")
        names = arguments.libraries
        calls = working(names, booster, X[:50], background, n_threads)
        bound = {name: partial(call, X[:n_rows]) for name, call in calls.items()}
        seconds = take_turns(bound, arguments.repetitions)
        records = measured(bound, seconds, threads=n_threads, rows=n_rows)
        print_table(records)
        rows = [about | asdict(settings) | record for record in records]
        append_json(arguments.json, rows)


if __name__ == "__main__":
    main()
