"""The cache of compiled kernels on disk: one file for each kernel and signature.

A file's name holds a key, a digest of all that its content depends on (:mod:`.keys`),
so a file is valid or has another name.  There is no index: versions and processes that
share a folder never disturb each other.  After those that were compiled for this CPU,
kernels that come with the package are looked for, of the highest level (:mod:`.cpus`)
that this CPU has.

The cache saves time only.  What it has not is compiled; where it cannot be read or
written, in every process, with a warning.
"""

from __future__ import annotations

import contextlib
import functools
import glob
import hashlib
import os
import uuid
from collections.abc import Iterator
from typing import Any

import numba

from sklearn_ltr._core.caller import warn_caller
from sklearn_ltr._core.compile import claims, cpus, helper
from sklearn_ltr._core.compile.compile_time import COMPILE_CLOCK
from sklearn_ltr._core.compile.keys import (
    UnknownContentError,
    kernel_key,
    signature_key,
)
from sklearn_ltr._core.compile.numba_internals import (
    NullCache,
    argument_types,
    cache_folder_of_user,
    packed,
    unpacked,
)
from sklearn_ltr._core.compile.waiting import TELLER

PACKAGE = os.path.abspath(os.path.join(__file__, *[os.pardir] * 3))
DIGEST_SIZE = hashlib.sha256().digest_size  # a file: digest of the rest, kernel


class KernelCache(NullCache):
    """The files of one kernel, in the place of numba's cache of a dispatcher."""

    def __init__(self, dispatcher: Any) -> None:
        self._dispatcher = dispatcher

    @property
    def cache_path(self) -> str:
        """The folder in which a new file is stored if it can be written."""
        return self._folders[0]

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return the compiled signature, None if it has to be compiled."""
        with COMPILE_CLOCK.running():
            target_context.refresh()  # registers what the machine code refers to
            name = self._file_name(signature, target_context.codegen())
            if name is None:
                return None
            return self._load_or_claim(name, signature, target_context)

    def _load_or_claim(self, name: str, signature: Any, target_context: Any) -> Any:
        """Return the signature that is stored; None if this process compiles it."""
        loaded = self._load(name, signature, target_context)
        if loaded is None:
            TELLER.begin(f"another process compiles {self._title}")
            helper.start()
            claims.claim(self.cache_path, name)
            TELLER.begin(f"compiling {self._title}")
            # another process may have compiled it meanwhile
            loaded = self._load(name, signature, target_context)
            if loaded is not None:
                claims.give_up(self.cache_path, name)
        return loaded

    def _load(self, name: str, signature: Any, target_context: Any) -> Any:
        """Return the signature that is stored in a file, None if there is none."""
        for path in self._paths(name, signature, target_context.codegen()):
            try:
                with open(path, "rb") as file:
                    content = file.read()
            except OSError:
                continue
            try:
                return unpacked(_checked(content), target_context)
            except Exception as error:  # whatever is wrong with it, compiling helps
                _warn_once(
                    "damaged",
                    f"The compiled kernel in {path} cannot be used ({error!r}).  It "
                    "is compiled again, and so are others of which that is true.",
                )
        return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Store a compiled signature, in the first folder that can be written."""
        name = self._file_name(signature, result.codegen)
        if name is not None:
            with COMPILE_CLOCK.running():
                self._save(name, result)
            claims.give_up(self.cache_path, name)

    def _save(self, name: str, result: Any) -> None:
        """Store a compiled signature in a file."""
        if result.library.has_dynamic_globals:
            return
        try:
            payload = packed(result)
            content = hashlib.sha256(payload).digest() + payload
            for folder in self._folders[:-1]:
                with contextlib.suppress(OSError):
                    _store(folder, name, content)
                    return
            _store(self._folders[-1], name, content)
        except Exception as error:  # OSError, or what pickle raises
            paths = (os.path.join(folder, name) for folder in self._folders)
            if not any(map(os.path.exists, paths)):  # by another process, as on Windows
                _warn_once(
                    "not stored",
                    f"Compiled kernels cannot be stored ({error!r}), so every new "
                    "process compiles them again.  Set the environment variable "
                    "NUMBA_CACHE_DIR to a folder that can be written.",
                )

    def _paths(self, name: str, signature: Any, codegen: Any) -> Iterator[str]:
        """Yield the files that may hold a signature, the best code first."""
        for folder in self._folders:
            yield os.path.join(folder, name)
        if not _SHIPPED_LEFT_ASIDE:
            for level in cpus.levels_of(codegen.magic_tuple()[2]):
                name = self._name(signature, cpus.level_described(level))
                yield os.path.join(cpus.COMPILED, level, name)

    def _file_name(self, signature: Any, codegen: Any) -> str | None:
        """Return the name of a new file, None if a signature must not be stored."""
        if self._key is None:
            return None
        return self._name(signature, cpus.described(codegen.magic_tuple()))

    def _name(self, signature: Any, cpu: tuple[str, ...]) -> str:
        """Return the name of the file of a signature for a CPU."""
        key = signature_key(argument_types(signature), cpu)
        return f"{self._start_of_name}{key}.nbc"

    @functools.cached_property
    def _start_of_name(self) -> str:
        """What the names of all files of the kernel begin with."""
        function = self._dispatcher.py_func
        module = function.__module__.rpartition(".")[2]
        name = f"{module}.{function.__qualname__}".replace("<", "").replace(">", "")
        return f"{name}-{self._key}-"

    def is_stored(self) -> bool:
        """Return whether the kernel is stored for arguments of some types."""
        folders = [*self._folders, *glob.glob(os.path.join(cpus.COMPILED, "*"))]
        pattern = glob.escape(self._start_of_name) + "*"
        return any(glob.glob(pattern, root_dir=folder) for folder in folders)

    @property
    def _title(self) -> str:
        """The kernel in a line for users: its name, and the folder of its file."""
        function = self._dispatcher.py_func
        return f"{function.__module__.split('.')[-2]}.{function.__name__}"

    @functools.cached_property
    def _key(self) -> str | None:
        """The key of the kernel; None, with a warning, if it has none."""
        try:
            return kernel_key(self._dispatcher)
        except UnknownContentError as error:
            name = self._dispatcher.py_func.__qualname__
            warn_caller(
                f"The kernel {name} is not stored on disk, since its cache key cannot "
                f"cover all that it refers to: {error}.",
                at_once=True,
            )
            return None

    @functools.cached_property
    def _folders(self) -> list[str]:
        """Where files are looked for, and stored if possible, best folder first."""
        if numba.config.CACHE_DIR:
            return [os.path.join(numba.config.CACHE_DIR, "sklearn_ltr")]
        folders = [os.path.join(cache_folder_of_user(), "sklearn_ltr")]
        source = self._dispatcher.py_func.__code__.co_filename
        if os.path.isfile(source):  # not in a zip file or notebook
            folders.insert(0, os.path.join(os.path.dirname(source), "__pycache__"))
        return folders


def _checked(content: bytes) -> bytes:
    """Return the kernel in a file; an error if the file is damaged."""
    digest, payload = content[:DIGEST_SIZE], content[DIGEST_SIZE:]
    if hashlib.sha256(payload).digest() != digest:
        raise ValueError("the file is damaged")
    return payload


def _store(folder: str, name: str, content: bytes) -> None:
    """Write a file into a folder, and note where it can be found."""
    _write(os.path.join(folder, name), content)
    # each room of the package has a folder of its own
    is_ours = folder.startswith(PACKAGE + os.sep)
    TELLER.place = f"the __pycache__ folders of {PACKAGE}" if is_ours else folder


def _write(path: str, content: bytes) -> None:
    """Write a file that no other process ever sees half written."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    unfinished = f"{path}.{uuid.uuid4().hex}"
    try:
        with open(unfinished, "xb") as file:
            file.write(content)
        os.replace(unfinished, path)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(unfinished)


def _warn_once(kind: str, message: str) -> None:
    """Warn of something that holds for many kernels, once in a process."""
    if kind not in _WARNED:
        _WARNED.add(kind)
        warn_caller(message, at_once=True)


def leave_shipped_aside() -> None:
    """Let this process compile for this CPU what comes with the package for a level."""
    _SHIPPED_LEFT_ASIDE.append(True)


_SHIPPED_LEFT_ASIDE: list[bool] = []
_WARNED: set[str] = set()  # kinds of messages that were given
