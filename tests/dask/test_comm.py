"""The exchanges of workers: on connections of their own, which end together."""

from __future__ import annotations

import logging
import os
import socket
import subprocess
import threading
import time

import numpy as np
import pytest

from sklearn_ltr._core.cluster.comm import (
    ASKING_SECONDS,
    BUFFER_BYTES,
    LostConnectionError,
    exchange,
    neighbours_of,
    receive_into,
)
from sklearn_ltr._core.compile import INTERPRETED
from sklearn_ltr.dask._engine import make_comm, open_endpoints
from sklearn_ltr.dask._watch import tell, wait_for
from tests.dask.test_cluster import FRAME, fit_on

dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")


def call_with_comm(rank, endpoints, actor, function):
    distributed.secede()
    with make_comm(rank, endpoints, actor) as comm:
        return function(comm)


class Tasks:
    """Tasks that exchange with each other, some of them on the same worker."""

    def __init__(self, client, n_tasks):
        addresses = sorted(client.nthreads())
        self.client = client
        self.addresses = [addresses[k % len(addresses)] for k in range(n_tasks)]
        self.placed, self.endpoints = open_endpoints(client, self.addresses)
        self.actors = [future.result() for future in self.placed]

    def start(self, function, ranks=None):
        return [
            self.client.submit(
                call_with_comm,
                rank,
                self.endpoints,
                self.placed[rank],
                function,
                workers=[self.addresses[rank]],
                pure=False,
            )
            for rank in (range(len(self.addresses)) if ranks is None else ranks)
        ]

    def run(self, function):
        tasks = self.start(function)
        wait_for(self.client, tasks, self.addresses, self.actors)
        return self.client.gather(tasks)


def exchange_much(comm):
    found = []
    for size in (1, 3, 40_000):
        found.append(comm.sum(np.arange(size) * (comm.rank + 1)).tolist())
        found.append(comm.gather((comm.rank, "x" * size)))
    found.append(comm.sum(np.full((2, 3), comm.rank)[:, ::2]).tolist())
    found.append(comm.sum(np.empty(0, dtype=np.int64)).tolist())
    to_one = [
        comm.gather_to(to, np.full(30_000, comm.rank + to))
        for to in range(comm.n_workers)
    ]
    return found, [[int(v.sum()) for v in values] for values in to_one]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 9])
def test_all_get_the_same_sums_and_lists(client, n):
    results = Tasks(client, n).run(exchange_much)
    expected = []
    for size in (1, 3, 40_000):
        expected.append((np.arange(size) * (n * (n + 1) // 2)).tolist())
        expected.append([(rank, "x" * size) for rank in range(n)])
    expected += [np.full((2, 2), n * (n - 1) // 2).tolist(), []]
    for own, (found, to_one) in enumerate(results):
        assert found == expected
        for to, values in enumerate(to_one):
            expected_values = [30_000 * (rank + to) for rank in range(n)]
            assert values == (expected_values if to == own else [])


def fail_at_rank_3(comm):
    comm.gather(None)
    if comm.rank == 3:
        raise ValueError("the reason")
    comm.sum(np.zeros(3, dtype=np.int64))


@pytest.mark.parametrize("late", [0.0, 3 * ASKING_SECONDS])
def test_bytes_that_come_late_and_in_parts_are_received(late):
    """A receiver asks for a moment, then sleeps until there are more bytes."""
    here, there = socket.socketpair()
    values = np.arange(1000)

    def send():
        for part in (values[:1], values[1:700], values[700:]):
            time.sleep(late)
            there.sendall(part)
        there.close()

    sender = threading.Thread(target=send)
    sender.start()
    with here:
        found = np.empty_like(values)
        receive_into(here, found)
        np.testing.assert_array_equal(found, values)
        with pytest.raises(ConnectionError, match="closed"):
            receive_into(here, found)
    sender.join()


@pytest.mark.parametrize("buffer", [1, BUFFER_BYTES])
@pytest.mark.parametrize("sizes", [(1, 1), (0, 3), (5, 0), (400_000, 399_999)])
def test_two_workers_send_to_each_other_at_once(buffer, sizes):
    """Neither waits for the other to read, even if the system grants small buffers."""
    ends = socket.socketpair()
    given = [np.arange(size) * (end + 1) for end, size in enumerate(sizes)]
    taken = [np.empty(size, dtype=np.int64) for size in reversed(sizes)]
    for end in ends:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, buffer)
    threads = [
        threading.Thread(target=exchange, args=arguments, daemon=True)
        for arguments in zip(ends, given, taken, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
        assert not thread.is_alive()
    for end, found, expected in zip(ends, taken, reversed(given), strict=True):
        np.testing.assert_array_equal(found, expected)
        end.close()


@pytest.mark.parametrize("n", [*range(1, 10), 100])
def test_neighbours_are_few_and_mutual(n):
    by_rank = [neighbours_of(rank, n) for rank in range(n)]
    assert max(map(len, by_rank)) <= n.bit_length()
    for rank, neighbours in enumerate(by_rank):
        assert rank not in neighbours
        assert all(rank in by_rank[other] for other in neighbours)
    # the first worker has all neighbours only when all others have theirs
    assert all(
        min(neighbours) < rank for rank, neighbours in enumerate(by_rank) if rank
    )


def test_a_failure_ends_the_others_and_is_what_the_caller_sees(client):
    tasks = Tasks(client, 7)
    started = tasks.start(fail_at_rank_3)
    with pytest.raises(ValueError, match="the reason"):
        wait_for(client, started, tasks.addresses, tasks.actors)
    distributed.wait(started, timeout=60)  # nobody has told them
    others = [task.exception() for rank, task in enumerate(started) if rank != 3]
    assert {type(error) for error in others} == {LostConnectionError}
    assert f"the worker {tasks.addresses[3]}, which this one" in str(others[1])


def sum_once(comm):
    return int(comm.sum(np.ones(1, dtype=np.int64))[0])


def test_who_waits_for_a_worker_that_never_comes_can_be_told(client):
    tasks = Tasks(client, 3)
    started = tasks.start(sum_once, ranks=[0, 2])
    tell(tasks.actors, "it is enough")
    for task in started:
        with pytest.raises(LostConnectionError, match="it is enough"):
            task.result(timeout=60)


def test_other_connections_are_not_those_of_the_fit(client):
    tasks = Tasks(client, 2)
    place = tasks.endpoints[0][1:]
    with socket.create_connection(place) as stranger:
        stranger.sendall(b"GET / HTTP/1.1\r\nHost: " + bytes(100))
        socket.create_connection(place).close()
        assert tasks.run(sum_once) == [2, 2]
        stranger.settimeout(60)
        with pytest.raises(ConnectionError):  # or the end of the connection
            if not stranger.recv(1):
                raise ConnectionError


def cipher_of(comm):
    return [connection.cipher()[0] for connection in comm._sockets.values()]


@pytest.fixture
def certificate(tmp_path):
    """A certificate that its own key has signed, and the key."""
    files = tmp_path / "certificate.pem", tmp_path / "key.pem"
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=cluster"
    try:
        subprocess.run(
            [*command.split(), "-out", files[0], "-keyout", files[1]],
            check=True,
            capture_output=True,
        )
    except FileNotFoundError:
        pytest.skip("there is no openssl command to make a certificate")
    return files


@pytest.mark.skipif(INTERPRETED, reason="interpreted kernels are slow")
@pytest.mark.long
def test_a_cluster_with_tls(certificate):
    from distributed.security import Security

    file, key = map(os.fspath, certificate)
    roles = ("client", "scheduler", "worker")
    files = {
        f"tls_{role}_{n}": f
        for role in roles
        for n, f in (("cert", file), ("key", key))
    }
    security = Security(tls_ca_file=file, require_encryption=True, **files)
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            protocol="tls://",
            security=security,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster, security=security) as client,
    ):
        ciphers = Tasks(client, 2).run(cipher_of)
        assert all(ciphers) and all(isinstance(name, str) for (name,) in ciphers)
        assert all(a.startswith("tls://") for a in client.nthreads())
        fit_on(dd.from_pandas(FRAME, npartitions=4, sort=False))
