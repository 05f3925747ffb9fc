"""Estimated propensities against the simulated ones, and the picture of both.

    python -m benchmarks.clicks.propensities
    python -m benchmarks.clicks.propensities --seeds 0 --picture curves.png

Queries are made; three rankers, whose scores are the utility of a document with noise
of standard deviation 1, show 10 documents to users of a position-based model.  For each
strength of the bias, number of sessions and estimator, the table has the root mean
square, over positions and seeds, of the relative error, of its standard error, and of
the error in standard errors (z, which should be near 1).  The picture, of one log for
each number of sessions and strength, has the curve of regression EM, too.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.tools.records import append_json, machine, parser_of
from sklearn_ltr.clicks import (
    InterventionHarvesting,
    PositionBasedModel,
    RegressionEM,
    simulate_clicks,
)
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.plotting import PropensityCurveDisplay

N_RANKERS = 3
COLUMNS = ("groups", "documents", "positions", "sessions")


def simulated(data, eta: float, n_sessions: int, seed: int):
    noise = np.random.default_rng(seed).normal(size=(len(data.target), N_RANKERS))
    scores = data.utility[:, None] + noise
    return simulate_clicks(
        data.target,
        scores,
        groups=data.groups,
        n_sessions=n_sessions,
        eta=eta,
        random_state=seed,
    )


def fitted(estimator, log):
    return estimator.fit(log.clicks, **{name: log[name] for name in COLUMNS})


def root_mean_square(values) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def measure(data, cls, eta: float, n_sessions: int, seeds: range) -> dict:
    errors, standard_errors, z = [], [], []
    for seed in seeds:
        log = simulated(data, eta, n_sessions, seed)
        model = fitted(cls(), log)
        truth = log.propensities[1:]
        error = model.propensities_[1:] - truth
        # a position without a click has no standard error
        known = np.isfinite(model.standard_errors_[1:])
        errors.append((error / truth)[known])
        standard_errors.append((model.standard_errors_[1:] / truth)[known])
        z.append((error / model.standard_errors_[1:])[known])
    return {
        "estimator": cls.__name__,
        "eta": eta,
        "n_sessions": n_sessions,
        "relative_error": root_mean_square(np.concatenate(errors)),
        "standard_error": root_mean_square(np.concatenate(standard_errors)),
        "z": root_mean_square(np.concatenate(z)),
    }


def draw(data, etas: list[float], sizes: list[int], path: Path) -> None:
    from matplotlib.figure import Figure

    shape = len(sizes), len(etas)
    figure = Figure(figsize=(4.2 * shape[1], 3.6 * shape[0]), layout="constrained")
    panels = figure.subplots(*shape, sharex=True, sharey=True, squeeze=False)
    for row, n_sessions in zip(panels, sizes, strict=True):
        for ax, eta in zip(row, etas, strict=True):
            log = simulated(data, eta, n_sessions, 0)
            features = RegressionEM().fit(
                data.data, log.clicks, **{name: log[name] for name in COLUMNS}
            )
            models = [
                fitted(cls(), log)
                for cls in (InterventionHarvesting, PositionBasedModel)
            ]
            PropensityCurveDisplay.from_estimators(
                [*models, features], true_propensities=log.propensities, ax=ax
            )
            ax.set_title(f"eta = {eta:g}, {n_sessions:,} sessions")
            ax.set_ylim(0, 1.1)
    figure.savefig(path, dpi=100)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--queries", type=int, default=500)
    sizes = [1000, 10_000, 100_000, 1_000_000]
    parser.add_argument("--sessions", type=int, nargs="+", default=sizes)
    parser.add_argument("--etas", type=float, nargs="+", default=[0.5, 1.0, 2.0])
    parser.add_argument("--seeds", type=int, default=5, help="0: no table")
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--picture-sessions", type=int, nargs="+", default=sizes[1::2])
    arguments = parser.parse_args()
    print(machine())
    data = make_ranking(arguments.queries, n_documents=15, random_state=0)
    print(f"{arguments.queries} queries, {arguments.seeds} seeds")
    print(f"{'eta':>5}{'sessions':>10}  {'estimator':24}{'error':>8}{'SE':>8}{'z':>8}")
    for eta in arguments.etas if arguments.seeds else ():
        for n_sessions in arguments.sessions:
            for cls in (InterventionHarvesting, PositionBasedModel):
                record = measure(data, cls, eta, n_sessions, range(arguments.seeds))
                print(
                    f"{eta:5g}{n_sessions:10d}  {cls.__name__:24}"
                    f"{record['relative_error']:8.3f}{record['standard_error']:8.3f}"
                    f"{record['z']:8.2f}",
                    flush=True,
                )
                append_json(arguments.json, [record])
    if arguments.picture:
        draw(data, arguments.etas, arguments.picture_sessions, arguments.picture)


if __name__ == "__main__":
    main()
