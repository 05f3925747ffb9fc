"""Effect of each default of the networks, and of ideas from elsewhere, on NDCG@10.

    python -m benchmarks.studies.networks --data PATH
    python -m benchmarks.studies.networks --made            # in the shape of MSLR-WEB
    python -m benchmarks.studies.networks --short 8 --queries 50000 \
        --settings defaults "batch_size=20"
    python -m benchmarks.studies.networks --data PATH --settings defaults "log1p of X"

Each setting of RankNetRanker and LambdaRankRanker is fitted behind a StandardScaler
with several seeds, without validation data. Printed is the mean of NDCG@10 over
held-out queries, each counting with its mean over seeds (0 without a relevant
document), and the difference to the first setting with its paired standard error. The
normalizations and self-attention need PyTorch.
"""

from __future__ import annotations

import time
import warnings
from copy import deepcopy
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    QuantileTransformer,
    StandardScaler,
)

from benchmarks.tools.fits import synthetic
from benchmarks.tools.paired import paired, with_error
from benchmarks.tools.queries import (
    Part,
    divided,
    folds,
    load,
    made,
)
from benchmarks.tools.records import append_json, machine, parser_of
from sklearn_ltr import LambdaRankRanker, RankNetRanker, TorchNetwork
from sklearn_ltr._core.networks import MultilayerPerceptron
from sklearn_ltr._core.networks.perceptron import initial_weights
from sklearn_ltr.preprocessing import SmoothClipScaler

N_THREADS = 1
N_HELD_OUT = 5_000  # short lists
RANKERS = {"RankNet": RankNetRanker, "LambdaRank": LambdaRankRanker}
HIDDEN = 100
NOISE = 0.3  # standard deviation, of standardized features
# those of scikit-learn's MLPRegressor, one query per update
FORMER = {"alpha": 1e-4, "batch_size": 1, "max_iter": 200}


def signed_log1p(X: np.ndarray) -> np.ndarray:
    return np.sign(X) * np.log1p(np.abs(X))


def perceptron(n_features: int, seed: int) -> MultilayerPerceptron:
    rng = np.random.default_rng(seed)
    return MultilayerPerceptron(n_features, [HIDDEN], "relu", rng)


def with_drawn_output(n_features: int, seed: int) -> MultilayerPerceptron:
    """Return the default network, but with output weights drawn like the others."""
    network = perceptron(n_features, seed)
    rng = np.random.default_rng([seed, 1])
    network.coefs[-1][...] = initial_weights(HIDDEN, 1, "relu", rng)
    return network


class Noisy:
    """The default network, with Gaussian noise on the features in training."""

    def __init__(self, n_features: int, seed: int) -> None:
        self.network = perceptron(n_features, seed)
        self.rng = np.random.default_rng([seed, 1])
        self.backward, self.predict = self.network.backward, self._predict

    def __deepcopy__(self, memo: dict) -> Noisy:
        other = Noisy(1, 0)  # methods of a deep copy would be those of the original
        other.rng, other.network = deepcopy(self.rng), deepcopy(self.network)
        other.backward = other.network.backward
        return other

    @property
    def parameters(self) -> list[np.ndarray]:
        return self.network.parameters

    def forward(self, X: np.ndarray) -> np.ndarray:
        noise = self.rng.normal(0, NOISE, X.shape).astype(np.float32)
        return self.network.forward(X + noise)

    def _predict(self, X: np.ndarray) -> np.ndarray:
        return self.network.forward(X)


def torch_network(kind: str, n_features: int, seed: int) -> TorchNetwork:
    """Return the default network in PyTorch, with something between its layers."""
    import torch
    from torch import nn

    class AmongQuery(nn.Module):
        """Add self-attention over the documents of the query, the last column of X."""

        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Linear(n_features, HIDDEN)
            self.attend = nn.MultiheadAttention(HIDDEN, 2, batch_first=True)

        def forward(self, X: torch.Tensor) -> torch.Tensor:
            features, query = X[:, :-1], X[:, -1]
            hidden = torch.relu(self.embed(features))[None]
            others = query[:, None] != query[None, :]
            mixed, _ = self.attend(
                hidden, hidden, hidden, attn_mask=others, need_weights=False
            )
            return (hidden + mixed)[0]

    torch.manual_seed(seed)
    torch.set_num_threads(N_THREADS)
    between = {"layer": nn.LayerNorm, "batch": nn.BatchNorm1d}
    if kind == "attention":
        layers = [AmongQuery(), nn.LayerNorm(HIDDEN)]
    else:
        layers = [nn.Linear(n_features, HIDDEN), between[kind](HIDDEN), nn.ReLU()]
    output = nn.Linear(HIDDEN, 1, bias=False)
    nn.init.zeros_(output.weight)
    return TorchNetwork(nn.Sequential(*layers, output))


LOG1P = FunctionTransformer(signed_log1p)
QUANTILES = QuantileTransformer(output_distribution="normal", random_state=0)
# parameters; "network" makes a network of the number of features and the seed, "first"
# is applied to X before the StandardScaler, "scaler" in its place
SETTINGS = {
    "defaults": {},
    "the former defaults": FORMER | {"network": with_drawn_output},
    "drawn output weights": {"network": with_drawn_output},
    "alpha=1e-4": {"alpha": 1e-4},
    "batch_size=1": {"batch_size": 1},
    "batch_size=20": {"batch_size": 20},
    "max_iter=200": {"max_iter": 200, "n_iter_no_change": 200},
    "early stopping": {"early_stopping": True, "max_iter": 200},
    "no hidden layer": {"hidden_layer_sizes": ()},
    "64 and 32 units": {"hidden_layer_sizes": (64, 32)},
    "tanh": {"activation": "tanh"},
    "log1p of X": {"first": LOG1P},
    "quantiles of X": {"first": QUANTILES},
    "smooth clipping": {"scaler": SmoothClipScaler()},
    "noise on X": {"network": Noisy},
    "layer normalization": {"network": partial(torch_network, "layer")},
    "batch normalization": {"network": partial(torch_network, "batch")},
    "self-attention": {"network": partial(torch_network, "attention"), "attends": True},
}


def splits_of(
    data: Path | None, n_queries: int, n_documents: int | None
) -> list[tuple[Part, Part]]:
    """Return pairs of training and test queries: five folds, or one of made data."""
    if n_documents is not None:
        every = made(
            n_queries + N_HELD_OUT,
            n_documents=n_documents,
            n_features=30,
            random_state=0,
            dtype="float32",
        )
        return [divided(every, n_queries)]
    if data is None:
        train, test = synthetic("a", "float32")
        return [(train.subset(train.groups < n_queries), test)]
    return [(train, test) for train, _, test in folds(load(data))]


def held_out_values(
    kind: str, setting: dict, split: tuple[Part, Part], seed: int
) -> np.ndarray:
    """Return NDCG@10 of each test query."""
    train, test = split
    options = dict(setting)
    last = options.pop("scaler", StandardScaler())
    scaler = make_pipeline(options.pop("first", None), last)
    X, Z = scaler.fit_transform(train.X), scaler.transform(test.X)
    if "network" in options:
        options["network"] = options["network"](X.shape[1], seed)
    if options.pop("attends", False):
        X, Z = np.c_[X, train.groups], np.c_[Z, test.groups]
    ranker = RANKERS[kind](**options, random_state=seed, n_jobs=N_THREADS)
    return test.ndcg(train._replace(X=X).fit(ranker).predict(Z))


def main() -> None:
    parser = parser_of(__doc__)
    data = parser.add_mutually_exclusive_group(required=True)
    data.add_argument("--data", type=Path)
    data.add_argument("--made", action="store_true")
    data.add_argument("--short", type=int, metavar="DOCUMENTS", help="made short lists")
    parser.add_argument("--queries", type=int, default=2000, help="of made data")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rankers", nargs="+", default=list(RANKERS), choices=RANKERS)
    parser.add_argument("--settings", nargs="+", default=list(SETTINGS), metavar="NAME")
    arguments = parser.parse_args()
    print(machine(["torch"]))
    warnings.simplefilter("ignore", UserWarning)  # quantiles of few distinct values
    splits = splits_of(arguments.data, arguments.queries, arguments.short)
    name = arguments.data.name if arguments.data else "made"
    for kind in arguments.rankers:
        print(f"{kind:24}  NDCG@10   minus the first (standard error)   seconds")
        first = None
        for setting in arguments.settings:
            start = time.perf_counter()
            of_seeds = [
                np.concatenate(
                    [held_out_values(kind, SETTINGS[setting], s, seed) for s in splits]
                )
                for seed in range(arguments.seeds)
            ]
            values = np.mean(of_seeds, axis=0)
            first = values if first is None else first
            difference, error = paired(values, first)
            seconds = time.perf_counter() - start
            print(
                f"{setting:24}{values.mean():9.4f}"
                f"{with_error(difference, error):>20}{seconds:24.0f}",
                flush=True,
            )
            record = {
                "data": name,
                "ranker": kind,
                "setting": setting,
                "ndcg@10": values.mean(),
                "of_seeds": np.mean(of_seeds, axis=1).tolist(),
                "minus": arguments.settings[0],
                "difference": difference,
                "standard_error": error,
            }
            append_json(arguments.json, [record])


if __name__ == "__main__":
    main()
