"""The `Comm` of a cluster: its workers exchange arrays on connections of the fit's own.

The workers are a binary tree: worker r has the children 2r + 1 and 2r + 2.  Each gives
its parent what it has together with all below it, and gets back what all have.  So a
worker receives two messages from its children, however many workers there are, and
waits for as many of them as the tree is deep.

A worker has one socket for its parent and one for each child, opened once per fit, with
TLS where the cluster has it.  The thread that fits writes and reads them itself:
neither the scheduler nor the worker's event loop takes part.  A worker that ends its
fit, for whatever reason, closes its connections.  Then its neighbours stop waiting for
it and end theirs, and so on through the tree.
"""

from __future__ import annotations

import hmac
import os
import pickle
import socket
import ssl
import struct
import time
from contextlib import suppress
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

POLL_SECONDS = 0.5
CONNECT_SECONDS = 30
GREETING_SECONDS = 30  # from the connection of a child until it has named itself
# So long a receiver asks for bytes again and again before it sleeps: to be woken takes
# longer than most messages (where the system can be asked: not on Windows)
ASKING_SECONDS = 0.001 if hasattr(socket, "MSG_DONTWAIT") else 0.0
NUMBER = struct.Struct("<q")


class LostConnectionError(RuntimeError):
    """Another worker has ended its fit, so this one cannot go on."""


class Endpoint(NamedTuple):
    """Where a worker of the fit listens."""

    worker: str  # its address in the cluster
    host: str
    port: int


class Connections:
    """The actor that opens the sockets of one worker, and can end what waits at them.

    Parameters
    ----------
    key : bytes
        A secret of the fit, by which its workers know each other.
    """

    def __init__(self, key: bytes) -> None:
        from distributed import get_worker
        from distributed.comm import get_address_host

        worker = get_worker()
        connecting = worker.security.get_connection_args("worker")
        self._server_name = connecting["extra_conn_args"].get("server_hostname")
        self._to_parent = connecting["ssl_context"]
        self._to_children = worker.security.get_listen_args("worker")["ssl_context"]
        self._listener = listen(get_address_host(worker.listen_address))
        host, port = get_address_host(worker.address), self._listener.getsockname()[1]
        self._endpoint = Endpoint(worker.address, host, port)
        self._key, self._failure = key, ""
        self._sockets: list[socket.socket] = []
        self._is_complete = False

    def endpoint(self) -> Endpoint:
        """Return where this worker listens for its children."""
        return self._endpoint

    def is_complete(self) -> bool:
        """Return whether this worker, and all below it, are connected."""
        return self._is_complete

    def abort(self, reason: str) -> None:
        """End all that waits at the connections, with a LostConnectionError."""
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
        """Connect to the children, then to the parent; return the sockets by rank."""
        sockets = {}
        missing = set(children_of(rank, len(endpoints)))
        while missing:
            self.check()
            try:
                connection, _ = self._listener.accept()
            except TimeoutError:
                continue
            with suppress(OSError):  # it is not of this fit
                child, connection = self._greet(connection)
                missing.remove(child)
                sockets[child] = connection
        if rank > 0:
            parent = (rank - 1) // 2
            sockets[parent] = self._connect(endpoints[parent], rank)
        self._is_complete = True
        return sockets

    def close(self) -> None:
        """Close the connections, which ends what the neighbours wait for."""
        for connection in (self._listener, *self._sockets):
            connection.close()

    def _greet(self, connection: socket.socket) -> tuple[int, socket.socket]:
        """Return the rank of the child that connects; an OSError if it is none."""
        connection.settimeout(GREETING_SECONDS)
        try:
            if self._to_children is not None:
                connection = self._to_children.wrap_socket(connection, server_side=True)
            array = np.empty(len(self._key) + NUMBER.size, dtype=np.uint8)
            receive_into(connection, array)
            greeting = array.tobytes()
            if not hmac.compare_digest(greeting[: len(self._key)], self._key):
                raise OSError("the key is that of another fit")
        except OSError:
            connection.close()
            raise
        connection.settimeout(None)
        self._keep(connection)
        (rank,) = NUMBER.unpack(greeting[len(self._key) :])
        return rank, connection

    def _connect(self, parent: Endpoint, rank: int) -> socket.socket:
        """Connect to the parent, and wait until it accepts, which may be late."""
        try:
            address = parent.host, parent.port
            connection = socket.create_connection(address, CONNECT_SECONDS)
            connection.settimeout(None)
            if self._to_parent is not None:
                connection = self._to_parent.wrap_socket(
                    connection,
                    server_hostname=self._server_name,
                    do_handshake_on_connect=False,
                )
            self._keep(connection)
            if isinstance(connection, ssl.SSLSocket):
                connection.do_handshake()
            connection.sendall(self._key + NUMBER.pack(rank))
        except OSError as error:
            self.check()
            raise LostConnectionError(
                f"no connection to the worker {parent.worker}, where it listened for "
                f"the fit, at port {parent.port} of {parent.host} ({error}): it has "
                "ended the fit, or a firewall forbids such connections"
            ) from error
        return connection

    def _keep(self, connection: socket.socket) -> None:
        """Let `abort` and `close` know a connection."""
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._sockets.append(connection)
        self.check()


def listen(host: str) -> socket.socket:
    """Listen at a free port."""
    family, *_, address = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
    listener = socket.create_server(address, family=family)
    listener.settimeout(POLL_SECONDS)
    return listener


def children_of(rank: int, n_workers: int) -> range:
    """Return the children of a worker in the tree."""
    return range(2 * rank + 1, min(2 * rank + 3, n_workers))


def receive_into(connection: socket.socket, values: NDArray[Any]) -> None:
    """Fill an array with the next bytes; an OSError if the connection ends."""
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


class DaskComm:
    """The exchanges of one worker of a fit, see `Comm`; a context, which connects it.

    Parameters
    ----------
    rank : int
    endpoints : list of n_workers Endpoint
        By the rank of the worker.
    actor : proxy of a Connections
        That of this worker.
    worker : distributed.Worker
        This worker.

    Attributes
    ----------
    n_threads : int
        Threads that Dask gives this worker.
    n_exchanges : int
        Number of exchanges so far.
    n_bytes : int
        Bytes of the arrays that this worker has given to sums, and got back, so far.
    """

    def __init__(
        self, rank: int, endpoints: list[Endpoint], actor: Any, worker: Any
    ) -> None:
        self.rank, self.n_workers = rank, len(endpoints)
        self.n_threads: int | None = worker.state.nthreads
        self.n_exchanges = self.n_bytes = 0
        self._connections: Connections = worker.state.actors[actor.key]
        self._endpoints, self._worker = endpoints, worker
        self._children = children_of(rank, len(endpoints))
        self._parent = (rank - 1) // 2  # of the root: -1
        # what a child brings to a sum: memory that is kept, as new pages are slow, and
        # Dask has the system take back what is freed
        self._brought = np.empty(0, dtype=np.int64)

    def __enter__(self) -> Self:
        """Connect to the neighbours in the tree."""
        try:
            self._sockets = self._connections.open(self.rank, self._endpoints)
        except BaseException:
            self._connections.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        """Close the connections, after an error too: then the others end their fits."""
        self._connections.close()

    def sum(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the sum of the arrays of all workers, in the memory of `values`."""
        self.n_exchanges += 1
        self.n_bytes += 2 * values.nbytes
        total = np.ascontiguousarray(values)
        if self._brought.size < total.size:
            self._brought = np.empty(total.size, dtype=np.int64)
        brought = self._brought[: total.size].reshape(total.shape)
        for child in self._children:
            self._receive_into(child, brought)
            total += brought
        if self.rank > 0:
            self._send(self._parent, total)
            self._receive_into(self._parent, total)
        for child in self._children:
            self._send(child, total)
        return total

    def gather(self, value: Any) -> list[Any]:
        """Return what each worker gave, by rank."""
        by_rank = self._collect(0, value)
        message: bytes | memoryview
        if self.rank == 0:
            message = pickle.dumps(by_rank)
        else:
            message = self._receive(self._parent)
            by_rank = pickle.loads(message)
        for child in self._children:
            self._send_message(child, message)
        return in_order(by_rank)

    def gather_to(self, rank: int, value: Any) -> list[Any]:
        """Return what each worker gave, by rank, on one of them; [] on the others."""
        by_rank = self._collect(rank, value)
        return in_order(by_rank) if rank == self.rank else []

    def print_line(self, line: str) -> None:
        """Print a line once, where the user is, whichever workers call this."""
        if self.rank == 0:
            self._worker.log_event("print", {"args": (line,), "flush": True})

    def _collect(self, to: int, value: Any) -> dict[int, Any]:
        """Send to a worker what all have; return, by rank, what came by on the way."""
        self.n_exchanges += 1
        next_rank = self._next_towards(to)
        by_rank = {self.rank: value}
        for neighbour in self._sockets:
            if neighbour != next_rank:
                by_rank |= pickle.loads(self._receive(neighbour))
        if next_rank is not None:
            self._send_message(next_rank, pickle.dumps(by_rank))
        return by_rank

    def _next_towards(self, rank: int) -> int | None:
        """Return the neighbour on the way to a worker; None: it is this one."""
        way = [rank]
        while way[-1] > self.rank:
            way.append((way[-1] - 1) // 2)
        if rank == self.rank:
            return None
        return way[-2] if way[-1] == self.rank else self._parent

    def _send_message(self, rank: int, message: bytes | memoryview) -> None:
        """Send bytes of any number to a neighbour."""
        self._send(rank, NUMBER.pack(len(message)))
        self._send(rank, message)

    def _receive(self, rank: int) -> memoryview:
        """Return the bytes of the next message of a neighbour."""
        (n_bytes,) = self._receive_into(rank, np.empty(1, dtype="<i8"))
        return self._receive_into(rank, np.empty(n_bytes, dtype=np.uint8)).data

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
        self._connections.check()
        return LostConnectionError(
            f"the worker {self._endpoints[rank].worker} has ended the fit, and this "
            "one was waiting for it"
        )


def in_order(by_rank: dict[int, Any]) -> list[Any]:
    """Return the values by rank."""
    return [by_rank[rank] for rank in range(len(by_rank))]
