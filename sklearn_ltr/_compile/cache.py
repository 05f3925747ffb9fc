"""The cache of compiled kernels on disk: one file for each kernel and signature.

A file's name holds all that its content depends on (see
:mod:`sklearn_ltr._compile.cache_key`), so a file is valid or has another name.  There
is no index: versions and processes that share a folder never disturb each other.

The cache saves time only.  Where it cannot be read or written, kernels are compiled in
every process, with a warning.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import pickle
import uuid
import warnings
from typing import Any

import numba
from numba.core import sigutils
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps
from numba.misc.appdirs import AppDirs

from sklearn_ltr._compile.cache_key import (
    UnknownContentError,
    kernel_key,
    signature_key,
)

DIGEST_SIZE = hashlib.sha256().digest_size  # a file: digest of the rest, pickle


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
        target_context.refresh()  # registers what the machine code refers to
        name = self._file_name(signature, target_context.codegen())
        if name is None:
            return None
        for folder in self._folders:
            path = os.path.join(folder, name)
            try:
                with open(path, "rb") as file:
                    content = file.read()
            except OSError:
                continue
            try:
                return CompileResult._rebuild(target_context, *_unpacked(content))
            except Exception as error:  # whatever is wrong with it, compiling helps
                warnings.warn(
                    f"The compiled kernel in {path} cannot be used ({error!r}).  "
                    "It is compiled again.",
                    stacklevel=1,
                )
        return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Store a compiled signature, in the first folder that can be written."""
        name = self._file_name(signature, result.codegen)
        if name is None or result.library.has_dynamic_globals:
            return
        try:
            payload = dumps(result._reduce())
            content = hashlib.sha256(payload).digest() + payload
            for folder in self._folders[:-1]:
                with contextlib.suppress(OSError):
                    _write(os.path.join(folder, name), content)
                    return
            _write(os.path.join(self._folders[-1], name), content)
        except Exception as error:  # OSError, or what pickle raises
            paths = (os.path.join(folder, name) for folder in self._folders)
            if not any(map(os.path.exists, paths)):  # by another process, as on Windows
                _warn_not_stored(repr(error))

    def _file_name(self, signature: Any, codegen: Any) -> str | None:
        if self._key is None:
            return None
        function = self._dispatcher.py_func
        arguments, _ = sigutils.normalize_signature(signature)
        module = function.__module__.rpartition(".")[2]
        name = f"{module}.{function.__qualname__}".replace("<", "").replace(">", "")
        return f"{name}-{self._key}-{signature_key(arguments, codegen)}.nbc"

    @functools.cached_property
    def _key(self) -> str | None:
        try:
            return kernel_key(self._dispatcher)
        except UnknownContentError as error:
            name = self._dispatcher.py_func.__qualname__
            warnings.warn(
                f"The kernel {name} is not stored on disk, since its cache key cannot "
                f"cover all that it refers to: {error}.",
                stacklevel=1,
            )
            return None

    @functools.cached_property
    def _folders(self) -> list[str]:
        """Where files are looked for, and stored if possible, best folder first."""
        if numba.config.CACHE_DIR:
            return [os.path.join(numba.config.CACHE_DIR, "sklearn_ltr")]
        cache_of_user = AppDirs(appname="numba", appauthor=False).user_cache_dir
        folders = [os.path.join(cache_of_user, "sklearn_ltr")]
        source = self._dispatcher.py_func.__code__.co_filename
        if os.path.isfile(source):  # not in a zip file or notebook
            folders.insert(0, os.path.join(os.path.dirname(source), "__pycache__"))
        return folders


def _unpacked(content: bytes) -> Any:
    digest, payload = content[:DIGEST_SIZE], content[DIGEST_SIZE:]
    if hashlib.sha256(payload).digest() != digest:
        raise ValueError("the file is damaged")
    return pickle.loads(payload)


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


def _warn_not_stored(reason: str) -> None:
    """Warn, once in a process, that compiled kernels are lost when it ends."""
    global _has_warned
    if not _has_warned:
        _has_warned = True
        warnings.warn(
            f"Compiled kernels cannot be stored ({reason}), so every new process "
            "compiles them again.  Set the environment variable NUMBA_CACHE_DIR to a "
            "folder that can be written.",
            stacklevel=1,
        )


_has_warned = False
