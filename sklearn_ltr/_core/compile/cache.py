"""The cache of compiled kernels on disk: one file for each kernel and signature.

A file's name holds a key, a digest of all that its content depends on (:mod:`.keys`),
so a file is valid or has another name.  There is no index: versions and processes that
share a folder never disturb each other.  After those that were compiled for this CPU,
kernels that come with the package are looked for, of the highest level (:mod:`.cpus`)
that this CPU has.

The cache saves time only.  What it has not is compiled; where it cannot be read or
written, in every process, with a warning.

A file is code: it is read only if it belongs to this user, to root, or to the owner of
the kernel's source.  Nothing is stored beside sources that belong to another user.
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
from sklearn_ltr._core.compile import claims, cpus
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
ROOT = 0  # the user
DIGEST_SIZE = hashlib.sha256().digest_size  # a file: digest of the rest, kernel


class KernelCache(NullCache):
    """The files of one kernel, in the place of numba's cache of a dispatcher."""

    def __init__(self, dispatcher: Any) -> None:
        self._dispatcher = dispatcher

    @property
    def cache_path(self) -> str:
        """The folder in which a new file is stored if it can be written."""
        return next(iter(self._own_folders), "")

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
                    if not self._trusts(_owner(file.fileno())):
                        _warn_once(
                            "of others",
                            f"The compiled kernel in {path} belongs to another user "
                            "and may be any code, so it is not used, and neither are "
                            "others of which that is true.  Set the environment "
                            "variable NUMBA_CACHE_DIR to a folder of your own.",
                        )
                        continue
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
        folders = self._own_folders
        try:
            payload = packed(result)
            content = hashlib.sha256(payload).digest() + payload
            for folder in folders[:-1]:
                with contextlib.suppress(OSError):
                    _store(folder, name, content)
                    return
            if not folders:
                raise OSError("no folder is this user's")
            _store(folders[-1], name, content)
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
        return ".".join([*function.__module__.split(".")[-2:-1], function.__name__])

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
    def _folders(self) -> dict[str, bool]:
        """Where files are looked for, the best first, and whether new ones go there."""
        if numba.config.CACHE_DIR:
            folder = os.path.join(numba.config.CACHE_DIR, "sklearn_ltr")
            if os.path.exists(folder) and not self._trusts(_owner(folder)):
                folder += f"-{_this_user()}"
            return {folder: True}
        folders = {}
        source = self._dispatcher.py_func.__code__.co_filename
        if os.path.isfile(source):  # not in a zip file or notebook
            beside = os.path.dirname(source)
            is_own = _owner(beside) == _this_user()
            folders[os.path.join(beside, "__pycache__")] = is_own
        folder, home = cache_folder_of_user(), os.path.expanduser("~")
        # no home is made, and root leaves nothing in that of another user
        is_homeless = folder.startswith(home) and not (
            os.path.isdir(home) and _owner(home) in (ROOT, _this_user())
        )
        if os.path.isabs(folder) and not is_homeless:
            folders[os.path.join(folder, "sklearn_ltr")] = True
        return folders

    @property
    def _own_folders(self) -> list[str]:
        """Where new files are stored, the best folder first."""
        return [folder for folder, is_own in self._folders.items() if is_own]

    def _trusts(self, owner: int) -> bool:
        """Whether code of a user may be run: of root, of this one, of the source's."""
        owners = {ROOT, _this_user()}
        with contextlib.suppress(OSError):  # in a zip file or notebook
            owners.add(_owner(self._dispatcher.py_func.__code__.co_filename))
        return owner in owners


def _owner(file: str | int) -> int:
    """Return the user who owns a file or folder; on Windows always 0."""
    return os.stat(file).st_uid


def _this_user() -> int:
    """Return the user of this process; on Windows always 0."""
    return int(getattr(os, "geteuid", int)())


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
    # whatever the umask permits, others may read it at most: it is code
    opener = functools.partial(os.open, mode=0o644)
    try:
        with open(unfinished, "xb", opener=opener) as file:
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
