"""A fit on a cluster: the rows to their workers, and a task on each that fits them."""

from __future__ import annotations

import pickle
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr.dask._exchange import Exchange
from sklearn_ltr.dask._partitions import (
    delayed_partitions,
    select_queries,
    summarize,
)
from sklearn_ltr.dask._plan import Census, learned_queries, own_queries, take_census
from sklearn_ltr.dask._recipes import make_recipes
from sklearn_ltr.dask._share import fit_share
from sklearn_ltr.dask._watch import wait_for
from sklearn_ltr.rankers import LambdaMARTRanker
from sklearn_ltr.rankers._reading import draw_held_out

IntArray = NDArray[np.int64]


class Traffic(NamedTuple):
    """What travelled between the workers during a fit.

    Attributes
    ----------
    n_moved_queries, n_moved_rows : int
        Queries that were on several workers (or on one with nothing to learn from) and
        were brought together, and their rows that travelled, of X and all columns.
    n_exchanges : int
        Exchanges between all workers, sums and others.
    n_sum_bytes : int
        Bytes that each worker sent and received in sums of histograms and the like.
    """

    n_moved_queries: int
    n_moved_rows: int
    n_exchanges: int
    n_sum_bytes: int


class Share(NamedTuple):
    """The data that one worker fits, of training or of validation."""

    parts: list[tuple[int, Any, IntArray | None]]  # number, partition, chosen queries
    numbers: IntArray  # of its queries, in the order of their labels


class Divided(NamedTuple):
    """Data, divided among workers."""

    shares: dict[str, Share]  # by the address of the worker
    n_moved_queries: int
    n_moved_rows: int


def refuse_clicks(given: dict[str, Any]) -> None:
    """Raise a ValueError if an argument that corrects clicks is not None."""
    for name, value in given.items():
        if value is not None:
            raise ValueError(
                f"{name} is given, but DaskLambdaMARTRanker does not correct clicks "
                "for their positions: leave it out, or fit a LambdaMARTRanker"
            )


def fit_on_cluster(
    client: Any,
    ranker: LambdaMARTRanker,
    arguments: dict[str, Any],
    validation: dict[str, Any],
) -> tuple[LambdaMARTRanker, Traffic]:
    """Return the fitted ranker, and what travelled.

    Parameters
    ----------
    client : distributed.Client
    ranker : LambdaMARTRanker
        With its parameters and seed, and what a warm start keeps.
    arguments, validation : dict
        Dask collections by the names of the arguments of `fit`.
    """
    parts, summaries = load(client, arguments, "")
    ids = {s.worker: s.worker_id for s in summaries if s is not None}
    census = take_census(summaries, "")
    learned = learned_queries(census, held_out_queries(ranker, census, validation))
    owner = own_queries(census, learned, [])
    if not learned.any():
        owner[:] = 0  # its worker says why
    divided = [divide(client, census, owner, parts, "")]
    if validation.get("X_val") is not None:
        parts, summaries = load(client, validation, "_val")
        ids |= {s.worker: s.worker_id for s in summaries if s is not None}
        takers = [census.workers.index(address) for address in divided[0].shares]
        census = take_census(summaries, "_val", census.workers)
        owner = own_queries(census, None, takers)
        divided.append(divide(client, census, owner, parts, "_val"))
    return run_fits(client, ranker, divided, ids)


def held_out_queries(
    ranker: LambdaMARTRanker, census: Census, validation: dict[str, Any]
) -> NDArray[np.bool_] | None:
    """Return which of the queries that count `fit` will hold out, None if none."""
    if validation.get("X_val") is not None or ranker.early_stopping is not True:
        return None
    n_queries = int(np.count_nonzero(census.weight > 0))
    return draw_held_out(n_queries, ranker.validation_fraction, ranker._seed)


def load(
    client: Any, arguments: dict[str, Any], suffix: str
) -> tuple[list[Any], list[Any]]:
    """Read the partitions, where the cluster does: (parts, summaries).

    A part is a recipe, or a future of rows that the cluster keeps.
    """
    from dask import delayed

    partitions = delayed_partitions(arguments)
    parts: list[Any] = list(make_recipes(partitions))
    kept = [number for number, part in enumerate(parts) if part is None]
    futures = client.compute(
        [delayed(dict)(list(partitions[number].items())) for number in kept]
    )
    for number, future in zip(kept, futures, strict=True):
        parts[number] = future
    wait_for(client, futures)
    summaries = [
        client.submit(summarize, part, number, suffix, pure=False)
        for number, part in enumerate(parts)
    ]
    wait_for(client, summaries)
    return parts, client.gather(summaries)


def divide(
    client: Any, census: Census, owner: IntArray, given: list[Any], suffix: str
) -> Divided:
    """Give each worker its queries; what lies elsewhere is cut out there."""
    query, workers = census.query, census.workers
    parts: dict[str, list[tuple[int, Any, IntArray | None]]] = {}
    to = owner[query]
    for number in np.unique(census.partition).tolist():
        inside = census.partition == number
        source = workers[census.worker[inside][0]]
        receivers = np.unique(to[inside]).tolist()
        for receiver in receivers:
            part, chosen = given[number], None
            if len(receivers) > 1:
                chosen = census.local[inside & (to == receiver)]
            if workers[receiver] != source:
                if chosen is None:
                    chosen = census.local[inside]
                part = client.submit(
                    select_queries, part, suffix, chosen, workers=[source], pure=False
                )
                chosen = None
            parts.setdefault(workers[receiver], []).append((number, part, chosen))
    moves = to != census.worker
    shares = {
        address: Share(parts[address], np.flatnonzero(owner == workers.index(address)))
        for address in sorted(parts)
    }
    return Divided(shares, len(np.unique(query[moves])), int(census.size[moves].sum()))


def run_fits(
    client: Any, ranker: LambdaMARTRanker, divided: list[Divided], ids: dict[str, str]
) -> tuple[LambdaMARTRanker, Traffic]:
    """Run a task on each worker that fits its share; return what they agree on."""
    import cloudpickle

    addresses = list(divided[0].shares)
    placed = [
        client.submit(
            Exchange, len(addresses), actor=True, workers=[address], pure=False
        )
        for address in addresses
    ]
    wait_for(client, placed, addresses)
    actors = [future.result() for future in placed]
    # as bytes: arrays that Dask brings are read-only, and would stay so in the model
    state = client.scatter(cloudpickle.dumps(vars(ranker)), hash=False)
    tasks = []
    for rank, address in enumerate(addresses):
        shares = [d.shares[address] for d in divided if address in d.shares]
        numbers = [share.numbers for share in shares]
        tasks.append(
            client.submit(
                fit_share,
                state,
                rank,
                placed,
                client.scatter(numbers, workers=[address], hash=False),
                [[part for _, part, _ in share.parts] for share in shares],
                [[chosen for *_, chosen in share.parts] for share in shares],
                (ids.get(address), len(divided) > 1),
                workers=[address],
                allow_other_workers=False,
                pure=False,
            )
        )
    wait_for(client, tasks, addresses, actors)
    results = client.gather(tasks)
    if len({digest for digest, *_ in results}) > 1:
        raise RuntimeError(
            "the workers have fitted different models: have they different versions of "
            "numpy or of sklearn_ltr?"
        )
    _, saved, n_exchanges, n_bytes = results[0]
    base = ranker.init_ if ranker._n_kept_trees > 0 else ranker.init
    parameters = ranker.get_params(deep=False)
    fitted = LambdaMARTRanker()
    fitted.__dict__ = parameters | pickle.loads(saved) | {"init_": base}
    moved_queries = sum(d.n_moved_queries for d in divided)
    moved_rows = sum(d.n_moved_rows for d in divided)
    return fitted, Traffic(moved_queries, moved_rows, n_exchanges, n_bytes)
