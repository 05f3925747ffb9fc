"""What a tree would cost on a large cluster, computed from what is measured here.

    python -m benchmarks.speed.cluster_growth --rows 1e9 --workers 10 100 1000

Measured on this machine: seconds of one thread per row and tree (the slope over two
sizes), exchanges and bytes of the sums of a tree (`traffic_`) in fits of some numbers
of workers, and an exchange between two processes, of 8 bytes and of 1 MB.  Computed
from these, per tree, for a cluster of the given cores and network:

compute
    rows / (workers x cores) x seconds per row and tree, all cores busy
wire
    bytes that the busiest worker receives, divided by the rate of its link
messages
    --step microseconds for the network in each step, and for our code what an exchange
    of 8 bytes takes on one machine

Of a sum over W workers, of H bytes, ours is divided among them: with P, the largest
power of two up to W, each receives 2 H (P - 1) / P bytes in 2 log2 P steps, and where P
is not W, 2 H more in two steps.  LightGBM's reduce-scatter (recursive halving): H
bytes (two float64 per bin) in log2 W steps, and as many to agree on the split.
XGBoost's allreduce in a ring: 2 (W - 1) steps of H / W bytes.  Their steps are taken to
last --step microseconds; nothing of them is measured.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from benchmarks.tools.peers import BINS
from benchmarks.tools.queries import Part, made
from benchmarks.tools.records import append_json, machine, parser_of
from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.dask._engine import make_comm, open_endpoints

N_FEATURES = 136
N_EXCHANGES = 500
BYTES_PER_BIN_OF_PEERS = 16


def made_rows(n_rows: int) -> Part:
    return made(n_rows // 100, n_documents=100, n_features=N_FEATURES, random_state=0)


def seconds_per_row(n_rows: int, n_trees: int) -> float:
    """Return the seconds of one thread per row and tree."""
    found = {}
    for size in (n_rows // 4, n_rows):
        X, y, groups = made_rows(size)
        of_trees = []
        for trees in (1, 1 + n_trees):
            ranker = LambdaMARTRanker(n_estimators=trees, random_state=0, n_jobs=1)
            ranker.fit(X[:2000], y[:2000], groups=groups[:2000])  # compiles
            start = time.perf_counter()
            ranker.fit(X, y, groups=groups)
            of_trees.append(time.perf_counter() - start)
        found[len(y)] = (of_trees[1] - of_trees[0]) / n_trees
    (small, of_small), (large, of_large) = found.items()
    return (of_large - of_small) / (large - small)


def counted(n_workers: int, n_rows: int, n_trees: int) -> tuple[float, float]:
    """Return exchanges of a tree, and bytes in sums of the busiest worker."""
    import dask.array as da
    from distributed import Client, LocalCluster

    from sklearn_ltr.dask import DaskLambdaMARTRanker

    X, y, groups = made_rows(n_rows)
    with (
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=False,  # a thread each, as only messages are counted
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        workers = sorted(client.nthreads())
        given = []
        for values in (X, y, groups):
            parts = [
                da.from_delayed(
                    client.scatter(part, workers=[worker], hash=False),
                    part.shape,
                    part.dtype,
                )
                for part, worker in zip(
                    np.array_split(values, n_workers), workers, strict=True
                )
            ]
            given.append(da.concatenate(parts))
        ranker = DaskLambdaMARTRanker(n_estimators=n_trees, random_state=0)
        traffic = ranker.fit(given[0], given[1], groups=given[2]).traffic_
    return traffic.n_exchanges / n_trees, traffic.n_sum_bytes / n_trees


def measured_on_cluster() -> dict[str, float]:
    """Return the seconds of messages between two processes."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        workers = sorted(client.nthreads())
        placed, endpoints = open_endpoints(client, workers)
        tasks = [
            client.submit(
                seconds_of_exchanges, rank, endpoints, placed[rank], workers=[worker]
            )
            for rank, worker in enumerate(workers)
        ]
        small, large = client.gather(tasks)[0]
    return {
        "exchange_8_bytes": small,
        "exchange_1_mb": large,
    }


def seconds_of_exchanges(rank: int, endpoints: Any, actor: Any) -> list[float]:
    """Return the seconds of an exchange of 8 bytes and of 1 MB; run on each worker."""
    from distributed import secede

    secede()
    seconds = []
    with make_comm(rank, endpoints, actor) as comm:
        for n_values in (1, 125_000):
            values = np.zeros(n_values, dtype=np.int64)
            comm.sum(values)
            start = time.perf_counter()
            for _ in range(N_EXCHANGES):
                comm.sum(values)
            seconds.append((time.perf_counter() - start) / N_EXCHANGES)
    return seconds


def on_paper(n_workers: int, of: dict[str, float], arguments: Any) -> dict[str, float]:
    """Return the seconds per tree of each part, ours and those of the peers."""
    rows = arguments.rows / (n_workers * arguments.cores)
    rate = arguments.gigabits * 1e9 / 8
    exchanges = of["exchanges"]
    of_sum = of["sum_bytes"] / exchanges
    histogram = N_FEATURES * (BINS + 1) * BYTES_PER_BIN_OF_PEERS
    splits = LambdaMARTRanker().max_leaf_nodes - 1
    step = arguments.step * 1e-6
    halvings = math.ceil(math.log2(n_workers)) if n_workers > 1 else 0
    bits = math.floor(math.log2(n_workers))
    corners = 2**bits
    more = 2 * (n_workers > corners)
    others = n_workers - 1
    return {
        "workers": n_workers,
        "compute": rows * of["row"],
        "wire": exchanges * (2 * (1 - 1 / corners) + more) * of_sum / rate,
        "messages": exchanges * (2 * bits + more) * (step + of["exchange_8_bytes"]),
        "gb_per_worker": arguments.rows / n_workers * arguments.bytes_per_row / 1e9,
        "lightgbm_network": splits
        * (histogram * others / n_workers / rate + 2 * halvings * step),
        "xgboost_network": splits
        * 2
        * (histogram * others / n_workers / rate + others * step),
    }


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--rows", type=float, default=1e9)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 10, 100, 1000])
    parser.add_argument(
        "--counted", type=int, nargs="+", default=[2, 4, 8], help="workers of fits"
    )
    parser.add_argument("--cores", type=int, default=16, help="of each worker")
    parser.add_argument("--gigabits", type=float, default=10.0, help="of each link")
    parser.add_argument("--step", type=float, default=50.0, help="microseconds")
    parser.add_argument("--bytes-per-row", type=float, default=300.0)
    parser.add_argument("--measured-rows", type=int, default=200_000)
    parser.add_argument("--trees", type=int, default=20)
    arguments = parser.parse_args()
    print(machine(["dask", "distributed"]))
    of = {"row": seconds_per_row(arguments.measured_rows, arguments.trees)}
    of |= measured_on_cluster()
    found = {
        n: counted(n, arguments.measured_rows // 4, arguments.trees)
        for n in arguments.counted
    }
    of["exchanges"], two_ways = found[2]
    of["sum_bytes"] = two_ways / 2  # those that one of two workers sends
    print("workers  exchanges per tree  MB of sums, sent and received")
    for n, (exchanges, n_bytes) in found.items():
        print(f"{n:7}{exchanges:20.1f}{n_bytes / 1e6:31.2f}")
    print(
        f"measured: {of['row'] * 1e9:.0f} ns of a core per row and tree, "
        f"{of['exchanges']:.1f} exchanges and {of['sum_bytes'] / 1e6:.2f} MB of sums "
        f"per tree, {of['exchange_8_bytes'] * 1e6:.0f} us for an exchange of 8 bytes, "
        f"{of['exchange_1_mb'] * 1e6:.0f} us for one of 1 MB"
    )
    print(
        f"{arguments.rows:.0e} rows x {N_FEATURES}, {arguments.cores} cores and "
        f"{arguments.gigabits:g} Gb/s per worker; seconds per tree\n"
        "workers  compute     wire  messages  LightGBM's network  XGBoost's network"
        "  GB per worker"
    )
    rows = [on_paper(n, of, arguments) for n in arguments.workers]
    for row in rows:
        print(
            f"{row['workers']:7}{row['compute']:9.3f}{row['wire']:9.3f}"
            f"{row['messages']:10.3f}{row['lightgbm_network']:20.3f}"
            f"{row['xgboost_network']:19.3f}{row['gb_per_worker']:15.1f}"
        )
    counts = [{"workers": n, "exchanges": e, "bytes": b} for n, (e, b) in found.items()]
    append_json(arguments.json, [of | {"counted": counts} | row for row in rows])


if __name__ == "__main__":
    main()
