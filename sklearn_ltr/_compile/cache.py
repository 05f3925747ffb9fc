"""The cache of compiled kernels on disk: one file for each kernel and signature.

A file's name holds a key, a digest of all that its content depends on, so a file is
valid or has another name.  There is no index: versions and processes that share a
folder never disturb each other.  (numba's own cache compares only the source file that
holds the kernel.  After a change in another file, to a sub-kernel or a constant, it
would run the old machine code.)

The cache saves time only.  Where it cannot be read or written, kernels are compiled in
every process, with a warning.
"""

from __future__ import annotations

import contextlib
import enum
import functools
import hashlib
import logging
import os
import pickle
import sys
import uuid
import warnings
from collections.abc import Iterable
from importlib import metadata
from types import BuiltinFunctionType, CodeType, EllipsisType, FunctionType, ModuleType
from typing import Any

import llvmlite
import numba
import numpy as np
from llvmlite import ir
from numba.core import sigutils, types
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps
from numba.core.types.containers import BaseNamedTuple, BaseTuple
from numba.core.types.misc import Optional
from numba.misc.appdirs import AppDirs

from sklearn_ltr._compile.compile_time import COMPILE_CLOCK

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LONG_WAIT = 2.0  # seconds of compiling, from which on a line tells of it
DIGEST_SIZE = hashlib.sha256().digest_size  # a file: digest of the rest, pickle

# What comes from these packages is named only: their versions are part of the key.
VERSIONED_PACKAGES = {*sys.stdlib_module_names, "llvmlite", "numba", "numpy"}

# Settings of numba that change the machine code.
SETTINGS = (
    "BOUNDSCHECK",
    "DEBUGINFO_DEFAULT",
    "LOOP_VECTORIZE",
    "OPT",
    "SLP_VECTORIZE",
    "USING_SVML",
)


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
            loaded = self._load(signature, target_context)
        if loaded is None:
            _tell_if_long()
        return loaded

    def _load(self, signature: Any, target_context: Any) -> Any:
        """Return the signature that is stored in a file, None if there is none."""
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
                _warn_once(
                    "damaged",
                    f"The compiled kernel in {path} cannot be used ({error!r}).  It "
                    "is compiled again, and so are others of which that is true.",
                )
        return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Store a compiled signature, in the first folder that can be written."""
        with COMPILE_CLOCK.running():
            self._save(signature, result)

    def _save(self, signature: Any, result: Any) -> None:
        """Store a compiled signature in a file."""
        name = self._file_name(signature, result.codegen)
        if name is None or result.library.has_dynamic_globals:
            return
        try:
            payload = dumps(result._reduce())
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

    def _file_name(self, signature: Any, codegen: Any) -> str | None:
        """Return the name of the file of a signature, None if it must not be stored."""
        if self._key is None:
            return None
        function = self._dispatcher.py_func
        arguments, _ = sigutils.normalize_signature(signature)
        module = function.__module__.rpartition(".")[2]
        name = f"{module}.{function.__qualname__}".replace("<", "").replace(">", "")
        return f"{name}-{self._key}-{signature_key(arguments, codegen)}.nbc"

    @functools.cached_property
    def _key(self) -> str | None:
        """The key of the kernel; None, with a warning, if it has none."""
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
    """Return the object in a file; an error if the file is damaged."""
    digest, payload = content[:DIGEST_SIZE], content[DIGEST_SIZE:]
    if hashlib.sha256(payload).digest() != digest:
        raise ValueError("the file is damaged")
    return pickle.loads(payload)


def _store(folder: str, name: str, content: bytes) -> None:
    """Write a file into a folder, and note where it can be found."""
    _write(os.path.join(folder, name), content)
    # each room of the package has a folder of its own
    is_ours = folder.startswith(PACKAGE + os.sep)
    place = f"the __pycache__ folders of {PACKAGE}" if is_ours else folder
    _STORED_IN[place] = None


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
        warnings.warn(message, stacklevel=1)


def _tell_if_long() -> None:
    """Say that kernels are compiled, once until a pause, if it takes long already."""
    kind = f"compiling, after {COMPILE_CLOCK.n_pauses} pauses"
    seconds = COMPILE_CLOCK.seconds_since_pause()
    if seconds < LONG_WAIT or kind in _WARNED or not _STORED_IN:
        return
    _WARNED.add(kind)
    # `warnings` are errors for many users; a logger prints this on stderr, unless they
    # set its level or a handler
    logging.getLogger("sklearn_ltr").warning(
        "sklearn_ltr compiles kernels for this CPU, %.0f s so far; later processes "
        "read them from %s.  To compile all of them beforehand: "
        "python -m sklearn_ltr compile",
        seconds,
        " and ".join(_STORED_IN),
    )


_WARNED: set[str] = set()  # kinds of messages that were given
_STORED_IN: dict[str, None] = {}  # where new files were stored, in this order


# --- keys -----------------------------------------------------------------------------


class UnknownContentError(TypeError):
    """A kernel uses a value of a type whose content this module cannot read."""


def kernel_key(dispatcher: Any) -> str:
    """Return the key of a kernel, 16 hexadecimal digits; or an UnknownContentError."""
    # It covers the kernel, the functions, constants and NamedTuple classes that it
    # reaches through its globals, directly or not, the compile options of all of these,
    # and the versions of everything that compiles.  Comments, docstrings and functions
    # that the kernel does not reach make no difference.
    functions = [dispatcher.py_func]
    numbers = {dispatcher.py_func: 0}
    digest = hashlib.sha256()
    digest.update(f"{_versions()} {_options(dispatcher)}".encode())
    for function in functions:  # grows meanwhile
        content, reached = _function_content(function)
        digest.update(content.encode())
        for other in reached:
            number = numbers.setdefault(other, len(functions))
            if number == len(functions):
                functions.append(other)
            digest.update(b"%d," % number)
    return digest.hexdigest()[:16]


def signature_key(arguments: Iterable[Any], codegen: Any) -> str:
    """Return the key of one compiled signature of a kernel, 16 hexadecimal digits."""
    # It covers the types of the arguments, with the field names of NamedTuples (numba
    # compares only the types of the fields), the CPU with its features, and settings.
    content = [
        *(_type_content(argument) for argument in arguments),
        codegen.magic_tuple(),
        *(getattr(numba.config, setting, None) for setting in SETTINGS),
    ]
    return hashlib.sha256(repr(content).encode()).hexdigest()[:16]


@functools.cache
def _versions() -> str:
    """Return the versions of everything that compiles."""
    try:
        package = metadata.version("sklearn_ltr")
    except metadata.PackageNotFoundError:  # run from a folder, not installed
        package = "unknown"
    python = sys.implementation.cache_tag + sys.abiflags
    versions = (numba.__version__, llvmlite.__version__, np.__version__)
    return repr((package, python, *versions))


@functools.cache
def _function_content(function: FunctionType) -> tuple[str, list[FunctionType]]:
    """Describe a function, and list the functions that it calls."""
    # The functions are in the order in which the text refers to them.
    reached: list[FunctionType] = []
    code = function.__code__
    closure = [cell.cell_contents for cell in function.__closure__ or ()]
    defaults = (function.__defaults__, function.__kwdefaults__, closure)
    content = [
        function.__module__,
        function.__qualname__,
        _code_content(code, function.__doc__, reached),
        *(_content(value, reached) for value in defaults),
        *_globals_content(code, function.__globals__, reached),
    ]
    return repr(content), reached


def _code_content(
    code: CodeType, docstring: str | None, reached: list[FunctionType]
) -> str:
    """Describe bytecode and its constants; functions are appended to `reached`."""
    constants = list(code.co_consts)
    if docstring is not None and constants and constants[0] == docstring:
        constants[0] = None
    return repr(
        (
            code.co_code,
            code.co_names,
            code.co_varnames,
            code.co_freevars,
            code.co_argcount,
            code.co_kwonlyargcount,
            code.co_flags,
            [_content(constant, reached) for constant in constants],
        )
    )


def _globals_content(
    code: CodeType, namespace: dict[str, Any], reached: list[FunctionType]
) -> list[str]:
    """Describe the global variables that bytecode, nested code too, may refer to."""
    # ``co_names`` holds names of attributes as well.  One that is also the name of a
    # global adds a dependency too many, which costs at most a compilation.
    content = []
    for name in code.co_names:
        if name not in namespace:
            continue
        value = namespace[name]
        content.append(f"{name}={_content(value, reached)}")
        if isinstance(value, ModuleType) and not _is_versioned(value.__name__):
            content += _globals_content(code, vars(value), reached)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            content += _globals_content(constant, namespace, reached)
    return content


def _content(value: Any, reached: list[FunctionType]) -> str:
    """Describe a value; a function is named, and appended to `reached`."""
    # The type is part of the description: 1, 1.0 and True are equal, but compile
    # differently.  What has no order is sorted, to be described alike in every process.
    # A value of an unknown type is an error: its content might change unseen.
    kind = type(value).__qualname__
    if value is None or isinstance(
        value, bool | int | float | complex | str | bytes | EllipsisType
    ):
        content: Any = value
    elif isinstance(value, np.ndarray | np.generic):
        content = (value.dtype.str, value.shape, value.strides, value.tobytes())
    elif isinstance(value, np.dtype):
        content = value.descr
    elif isinstance(value, np.ufunc):
        content = value.__name__
    elif isinstance(value, tuple | list):
        content = [_content(item, reached) for item in value]
        if hasattr(value, "_fields"):
            content.append(_class_content(type(value), reached))
    elif isinstance(value, set | frozenset):
        content = sorted(_content(item, reached) for item in value)
    elif isinstance(value, dict):
        content = sorted(
            (_content(key, reached), _content(item, reached))
            for key, item in value.items()
        )
    elif isinstance(value, CodeType):
        content = _code_content(value, None, reached)
    elif isinstance(value, types.Type | ir.Type):
        content = str(value)
    elif isinstance(value, ModuleType):
        content = value.__name__
    elif isinstance(value, type):
        content = _class_content(value, reached)
    elif isinstance(value, enum.Enum):
        content = (_class_content(type(value), reached), value.name)
    elif isinstance(value, FunctionType | BuiltinFunctionType):
        content = (value.__module__, value.__qualname__)
        if not _is_versioned(value.__module__) and isinstance(value, FunctionType):
            reached.append(value)
    elif (dispatcher := _dispatcher_of(value)) is not None:
        content = _options(dispatcher)
        reached.append(dispatcher.py_func)
    elif isinstance(function := getattr(value, "_defn", None), FunctionType):
        content = "intrinsic"
        reached.append(function)
    else:
        raise UnknownContentError(f"{value!r} of type {type(value).__qualname__}")
    return f"{kind}:{content!r}"


def _class_content(cls: type, reached: list[FunctionType]) -> str:
    """Describe a NamedTuple or Enum class, or name one of a versioned package."""
    content: list[Any] = [cls.__module__, cls.__qualname__]
    if hasattr(cls, "_fields"):
        content += [cls._fields, _content(getattr(cls, "_field_defaults", {}), reached)]
    elif issubclass(cls, enum.Enum):
        content += [(member.name, member.value) for member in cls]
    elif not _is_versioned(cls.__module__):
        raise UnknownContentError(f"class {cls.__qualname__}")
    return repr(content)


def _type_content(numba_type: Any) -> str:
    """Describe the type of an argument."""
    content: list[Any] = [str(numba_type)]
    if isinstance(numba_type, types.Dispatcher):
        content.append(kernel_key(numba_type.dispatcher))
    elif isinstance(numba_type, BaseTuple):
        if isinstance(numba_type, BaseNamedTuple):
            content.append(_class_content(numba_type.instance_class, []))
        content += [_type_content(item) for item in numba_type.types]
    elif isinstance(numba_type, Optional):
        content.append(_type_content(numba_type.type))
    return repr(content)


def _dispatcher_of(value: Any) -> Any:
    """Return the dispatcher behind a kernel or sub-kernel, None for other values."""
    numba_type = getattr(value, "_numba_type_", None)
    if isinstance(numba_type, types.Dispatcher):
        return numba_type.dispatcher
    return None


def _options(dispatcher: Any) -> str:
    """Describe the compile options of a dispatcher."""
    return _content(dispatcher.targetoptions, [])


def _is_versioned(module: str | None) -> bool:
    """Return whether a module belongs to a package whose version is in the key."""
    return module is None or module.partition(".")[0] in VERSIONED_PACKAGES
