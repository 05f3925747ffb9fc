"""The `Comm` of a cluster: workers exchange arrays through sockets of the fit.

Let P be the largest power of two that is not above the number of workers.  The workers
of rank 0 to P - 1 are the corners of a cube: two corners are neighbours if their ranks
differ in one bit.  Each corner exchanges with its neighbours, one bit after another;
then every corner has the data of all corners.  A worker of rank r >= P has one
neighbour, the corner r - P.  It sends its data to the corner before these exchanges,
and receives the result after them.  So a result takes log2 P exchanges in a row, or
twice as many where a large array is divided, and two messages more if P is not the
number of workers (R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of Collective
Communication Operations in MPICH", 2005: recursive doubling, and recursive halving with
doubling).

A worker has one socket for each neighbour, opened once per fit, with TLS where the
cluster has it.  The thread that fits writes and reads them itself: neither the
scheduler nor an event loop of the worker takes part.  A worker that ends its fit, for
whatever reason, closes its connections.  Then its neighbours stop waiting for it and
end theirs, and so on through the cube.  Nothing here knows which cluster it is.
"""

from __future__ import annotations

import hmac
import math
import os
import pickle
import socket
import ssl
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from sklearn_ltr._core.comm import V
from sklearn_ltr._core.estimators.base import FittedAttributes
from sklearn_ltr._core.typing import IntArray

ACCEPT_SECONDS = 0.5  # a listener waits for a connection before it looks for `abort`
CONNECT_SECONDS = 30
TOLD_SECONDS = 1.0  # for `abort`, after a connection was refused
GREETING_SECONDS = 30  # from the connection of a neighbour until it has named itself
# For this time a receiver polls for bytes; then it sleeps until some arrive, since
# waking up takes longer than most messages.  (Windows cannot poll without waiting.)
ASKING_SECONDS = 0.001 if hasattr(socket, "MSG_DONTWAIT") else 0.0
NUMBER = struct.Struct("<q")
BLOCK_BYTES = 2**17  # of an array that two workers send to each other at once
BUFFER_BYTES = 4 * BLOCK_BYTES  # of a socket, if the system allows it
SMALL_BYTES = 2**13  # smaller arrays are added up as a whole, not in halves


class LostConnectionError(RuntimeError):
    """Another worker has ended its fit, so this one cannot go on."""


class Endpoint(NamedTuple):
    """The address at which a worker of the fit listens."""

    worker: str  # its address in the cluster
    host: str
    port: int


class Connections:
    """Opens the sockets of one worker, and can end its exchanges.

    By the secret `key`, the workers of a fit know each other.  Others reach this
    `worker` at `host`; it listens at a free port of `listen_host`.  With TLS there is a
    context for `connecting` to others, by their `server_name`, and for `listening`.
    Where nobody would call `abort`, it waits for others so many `seconds`.
    """

    def __init__(
        self,
        key: bytes,
        worker: str,
        host: str,
        listen_host: str,
        connecting: ssl.SSLContext | None = None,
        listening: ssl.SSLContext | None = None,
        server_name: str | None = None,
        seconds: float = math.inf,
    ) -> None:
        self._connecting, self._listening = connecting, listening
        self._seconds = seconds
        self._server_name = server_name
        places = socket.getaddrinfo(listen_host, 0, type=socket.SOCK_STREAM)
        family, *_, address = places[0]
        self._listener = socket.create_server(address, family=family)
        self._listener.settimeout(ACCEPT_SECONDS)
        self._endpoint = Endpoint(worker, host, self._listener.getsockname()[1])
        self._key, self._failure = key, ""
        self._sockets: list[socket.socket] = []
        self._is_complete = False
        self._fitted: FittedAttributes | None = None
        self._n_trees = 0

    def endpoint(self) -> Endpoint:
        """Return the address at which this worker listens for its neighbours."""
        return self._endpoint

    def is_complete(self) -> bool:
        """Return whether this worker is connected to all of its neighbours."""
        # If this is true of the worker of rank 0, it is true of all: see `open`.
        return self._is_complete

    def keep(self, n_trees: int, fitted: FittedAttributes) -> None:
        """Keep the function that returns the attributes fitted by `n_trees` trees."""
        self._n_trees, self._fitted = n_trees, fitted

    def fitted(self) -> bytes:
        """Return the pickled attributes after the last tree, or {} if not known."""
        # Called once, after the fit has ended.
        attributes = {} if self._fitted is None else self._fitted()
        self._fitted = None  # it holds the rows
        # the fit may have ended between the next tree and the metrics measured after it
        is_known = attributes.get("n_iter_") == self._n_trees
        return pickle.dumps(attributes if is_known else {})

    def abort(self, reason: str) -> None:
        """End all exchanges of this worker with a LostConnectionError."""
        self._failure = reason
        for connection in self._sockets:
            with suppress(OSError):  # it is closed
                # not the method of an SSLSocket, which another thread is using
                socket.socket.shutdown(connection, socket.SHUT_RDWR)

    def check(self) -> None:
        """Raise a LostConnectionError after `abort`."""
        if self._failure:
            raise LostConnectionError(self._failure)

    def open(self, rank: int, endpoints: list[Endpoint]) -> dict[int, socket.socket]:
        """Connect to the neighbours; return the sockets by rank."""
        # A worker connects to neighbours of lower rank after all neighbours of higher
        # rank have connected to it.  So when the worker of rank 0 is complete, all are.
        neighbours, sockets = neighbours_of(rank, len(endpoints)), {}
        missing = {other for other in neighbours if other > rank}
        stop = time.perf_counter() + self._seconds
        while missing:
            self.check()
            if time.perf_counter() > stop:
                raise LostConnectionError(
                    f"the worker {endpoints[min(missing)].worker} has not connected to "
                    f"this one for {self._seconds:g} seconds: it has ended the fit, or "
                    "a firewall blocks the port; allow connections between workers"
                )
            try:
                connection, _ = self._listener.accept()
            except TimeoutError:
                continue
            with suppress(OSError):  # the connection is not one of this fit
                other, connection = self._greet(connection)
                missing.remove(other)
                sockets[other] = connection
        for other in neighbours:
            if other < rank:
                sockets[other] = self._connect(endpoints[other], rank)
        self._is_complete = True
        return sockets

    def close(self) -> None:
        """Close the connections, which ends the exchanges of the neighbours, too."""
        for connection in (self._listener, *self._sockets):
            connection.close()

    def _greet(self, connection: socket.socket) -> tuple[int, socket.socket]:
        """Return the rank of a neighbour that connects; raise an OSError for others."""
        connection.settimeout(GREETING_SECONDS)
        try:
            if self._listening is not None:
                connection = self._listening.wrap_socket(connection, server_side=True)
            array = np.empty(len(self._key) + NUMBER.size, dtype=np.uint8)
            receive_into(connection, array)
            greeting = array.tobytes()
            if not hmac.compare_digest(greeting[: len(self._key)], self._key):
                raise OSError("the key belongs to another fit")
        except OSError:
            connection.close()
            raise
        connection.settimeout(None)
        self._keep(connection)
        (rank,) = NUMBER.unpack(greeting[len(self._key) :])
        return rank, connection

    def _connect(self, other: Endpoint, rank: int) -> socket.socket:
        """Connect to a neighbour, and wait until it accepts the connection."""
        try:
            address = other.host, other.port
            connection = socket.create_connection(address, CONNECT_SECONDS)
            connection.settimeout(None)
            if self._connecting is not None:
                connection = self._connecting.wrap_socket(
                    connection,
                    server_hostname=self._server_name,
                    do_handshake_on_connect=False,
                )
            self._keep(connection)
            if isinstance(connection, ssl.SSLSocket):
                connection.do_handshake()
            connection.sendall(self._key + NUMBER.pack(rank))
        except OSError as error:
            # If the fit is aborted, the neighbour may have been told first
            for _ in range(20):
                self.check()
                time.sleep(TOLD_SECONDS / 20)
            raise LostConnectionError(
                f"no connection to the worker {other.worker} at port {other.port} of "
                f"{other.host} ({error}): it has ended the fit, or a firewall blocks "
                "the port; allow connections between workers"
            ) from error
        return connection

    def _keep(self, connection: socket.socket) -> None:
        """Prepare a connection, and let `abort` and `close` end it."""
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER_BYTES)
        self._sockets.append(connection)
        self.check()


def n_corners(n_workers: int) -> int:
    """Return the largest power of two that is not above the number of workers."""
    return 1 << n_workers.bit_length() - 1


def neighbours_of(rank: int, n_workers: int) -> list[int]:
    """Return the neighbours of a worker, in the order of its exchanges with them."""
    corners = n_corners(n_workers)
    if rank >= corners:
        return [rank - corners]
    bits = range(corners.bit_length() - 1)
    others = [rank + corners] if rank + corners < n_workers else []
    return others + [rank ^ 1 << bit for bit in bits]


def receive_into(connection: socket.socket, values: NDArray[Any]) -> None:
    """Fill an array with the next bytes; raise an OSError if the connection ends."""
    missing = values.reshape(-1).view(np.uint8).data
    stop = time.perf_counter() + ASKING_SECONDS
    asks = ASKING_SECONDS > 0 and not isinstance(connection, ssl.SSLSocket)
    while len(missing) > 0:
        try:
            flags = socket.MSG_DONTWAIT if asks else 0
            n_bytes = connection.recv_into(missing, 0, flags)
        except BlockingIOError:
            asks = time.perf_counter() < stop
            os.sched_yield()  # to another worker of this machine
            continue
        if n_bytes == 0:
            raise ConnectionError("the connection was closed")
        missing = missing[n_bytes:]


def exchange(connection: socket.socket, given: IntArray, taken: IntArray) -> None:
    """Send the array `given`, while the neighbour sends the array `taken`."""
    # Each sends one block more than it has received, so that bytes are always on their
    # way.  The buffers must hold at most two blocks from each; a block is at most a
    # third of a buffer, so sending never waits until the other one reads.
    buffer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
    step = min(BLOCK_BYTES, buffer // 3) // given.itemsize
    connection.sendall(given[:step].data)
    for start in range(0, max(len(given), len(taken)), step):
        connection.sendall(given[start + step : start + 2 * step].data)
        receive_into(connection, taken[start : start + step])


class SocketComm:
    """The exchanges of one worker of a fit, as `Comm` says; a context connects it.

    The endpoints are by rank; `print_line` prints where the user is.  It counts its
    `n_exchanges`, and `n_bytes`, which it has sent and received in sums.
    """

    def __init__(
        self,
        rank: int,
        endpoints: list[Endpoint],
        connections: Connections,
        n_threads: int | None,
        print_line: Callable[[str], None],
    ) -> None:
        self.rank, self.n_workers = rank, len(endpoints)
        self.n_threads, self.connections = n_threads, connections
        self.n_exchanges = self.n_bytes = 0
        self._endpoints, self._print_line = endpoints, print_line
        neighbours = neighbours_of(rank, len(endpoints))
        corners = n_corners(len(endpoints))
        self._is_corner = rank < corners
        self._corners = [other for other in neighbours if other < corners]
        self._others = [other for other in neighbours if other >= corners]
        # the arrays received from neighbours in a sum: memory that is kept, as new
        # pages are slow, and a worker may return freed memory to the system
        self._brought = np.empty(0, dtype=np.int64)

    def __enter__(self) -> Self:
        """Connect to the neighbours."""
        try:
            self._sockets = self.connections.open(self.rank, self._endpoints)
        except BaseException:
            self.connections.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        """Close the connections; after an error, this makes all other workers end."""
        self.connections.close()

    def sum(self, values: IntArray) -> IntArray:
        """Return the sum of the arrays of all workers, in the memory of `values`."""
        self.n_exchanges += 1
        total = np.ascontiguousarray(values)
        own = total.reshape(-1)
        if self._brought.size < own.size:
            self._brought = np.empty(own.size, dtype=np.int64)
        self.n_bytes += 2 * own.nbytes * (len(self._others) + (not self._is_corner))
        if not self._is_corner:
            (corner,) = self._corners
            self._send(corner, own)
            self._receive_into(corner, own)
            return total
        for other in self._others:
            own += self._receive_into(other, self._brought[: own.size])
        if own.nbytes > SMALL_BYTES:
            self._sum_halves(own)
        else:
            for other in self._corners:
                brought = self._brought[: own.size]
                self._exchange(other, own, brought)
                own += brought
        for other in self._others:
            self._send(other, own)
        return total

    def _sum_halves(self, own: IntArray) -> None:
        """Sum up the array by recursive halving, then exchange the parts."""
        # Two neighbours divide the part of the array that both have.  Each sends one
        # half to the other, and adds up the other half, with which it goes on.
        first, last, divided = 0, own.size, []
        for other in self._corners:
            middle = (first + last) // 2
            kept, given = slice(first, middle), slice(middle, last)
            if self.rank > other:
                kept, given = given, kept
            first, last = kept.start, kept.stop
            brought = self._brought[: last - first]
            self._exchange(other, own[given], brought)
            own[kept] += brought
            divided.append((other, kept, given))
        for other, kept, given in reversed(divided):
            self._exchange(other, own[kept], own[given])

    def gather(self, value: V) -> list[V]:
        """Return the values that all workers gave, by rank."""
        self.n_exchanges += 1
        by_rank = {self.rank: value}
        if not self._is_corner:
            (corner,) = self._corners
            self._send_value(corner, by_rank)
            return in_order(self._receive_value(corner))
        for other in self._others:
            by_rank |= self._receive_value(other)
        for other in self._corners:
            if self.rank < other:  # one sends first, or both might wait for a reader
                self._send_value(other, by_rank)
            brought = self._receive_value(other)
            if self.rank > other:
                self._send_value(other, by_rank)
            by_rank |= brought
        for other in self._others:
            self._send_value(other, by_rank)
        return in_order(by_rank)

    def gather_to(self, rank: int, value: V) -> list[V]:
        """Return the values of all workers on the worker `rank`, [] on the others."""
        # Of two corners, one has the same bit as the goal, the corner of `rank`.  The
        # other one sends it all values that it has, and is done.
        self.n_exchanges += 1
        by_rank = {self.rank: value}
        goal = rank % n_corners(self.n_workers)
        if not self._is_corner:
            (corner,) = self._corners
            if rank != self.rank:
                self._send_value(corner, by_rank)
                return []
            return in_order(by_rank | self._receive_value(corner))
        for other in self._others:
            if other != rank:
                by_rank |= self._receive_value(other)
        for other in self._corners:
            if (self.rank ^ goal) & (self.rank ^ other):
                self._send_value(other, by_rank)
                return []
            by_rank |= self._receive_value(other)
        if rank == self.rank:
            return in_order(by_rank)
        self._send_value(rank, by_rank)
        return []

    def print_line(self, line: str) -> None:
        """Print a line once, where the user is, whichever workers call this."""
        if self.rank == 0:
            self._print_line(line)

    def _send_value(self, rank: int, value: Any) -> None:
        """Send any value to a neighbour, its arrays without a copy."""
        arrays: list[pickle.PickleBuffer] = []
        pickled = pickle.dumps(value, protocol=5, buffer_callback=arrays.append)
        parts = [memoryview(pickled), *(array.raw() for array in arrays)]
        self._send(rank, NUMBER.pack(len(parts)))
        self._send(rank, np.array([part.nbytes for part in parts], dtype="<i8"))
        for part in parts:
            self._send(rank, part)

    def _receive_value(self, rank: int) -> Any:
        """Return the next value of a neighbour."""
        (n_parts,) = self._receive_into(rank, np.empty(1, dtype="<i8"))
        sizes = self._receive_into(rank, np.empty(n_parts, dtype="<i8"))
        pickled, *arrays = [
            self._receive_into(rank, np.empty(size, dtype=np.uint8)) for size in sizes
        ]
        return pickle.loads(pickled.data, buffers=arrays)

    def _exchange(self, rank: int, given: IntArray, taken: IntArray) -> None:
        """Send an array to a neighbour, and fill another with the array it sends."""
        self.n_bytes += given.nbytes + taken.nbytes
        try:
            exchange(self._sockets[rank], given, taken)
        except OSError as error:
            raise self._lost(rank) from error

    def _send(self, rank: int, values: Any) -> None:
        """Send an array or bytes to a neighbour."""
        try:
            self._sockets[rank].sendall(values)
        except OSError as error:
            raise self._lost(rank) from error

    def _receive_into(self, rank: int, values: NDArray[Any]) -> NDArray[Any]:
        """Fill an array with the next bytes of a neighbour; return it."""
        try:
            receive_into(self._sockets[rank], values)
        except OSError as error:
            raise self._lost(rank) from error
        return values

    def _lost(self, rank: int) -> LostConnectionError:
        """Return the error that says why a neighbour is not connected any more."""
        self.connections.check()
        return LostConnectionError(
            f"the worker {self._endpoints[rank].worker}, which this one was waiting "
            "for, has ended the fit"
        )


def in_order(by_rank: dict[int, V]) -> list[V]:
    """Return the values by rank."""
    return [by_rank[rank] for rank in range(len(by_rank))]
