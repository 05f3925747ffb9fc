"""Keys of kernels: digests of all that their machine code depends on.

numba's own cache compares only the source file that holds the kernel.  After a change
in another file, to a sub-kernel or a constant, it would run the old machine code.
"""

from __future__ import annotations

import enum
import functools
import hashlib
import re
import sys
from collections.abc import Iterable
from importlib import metadata
from types import BuiltinFunctionType, CodeType, EllipsisType, FunctionType, ModuleType
from typing import Any

import llvmlite
import numba
import numpy as np
from llvmlite import ir
from numba import types

# What comes from these packages is named only: their releases are part of the key.
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


def signature_key(arguments: Iterable[Any], cpu: Any) -> str:
    """Return the key of one compiled signature of a kernel, 16 hexadecimal digits."""
    # It covers the types of the arguments, with the field names of NamedTuples (numba
    # compares only the types of the fields), the CPU with its features, and settings.
    content = [
        *(_type_content(argument) for argument in arguments),
        cpu,
        *(getattr(numba.config, setting, None) for setting in SETTINGS),
    ]
    return hashlib.sha256(repr(content).encode()).hexdigest()[:16]


@functools.cache
def _versions() -> str:
    """Return the versions of everything that compiles."""
    # Of numba and llvmlite the release without its patches: those of 0.68 make the same
    # machine code.  The version of numpy makes no difference, since machine code finds
    # the parts of an array by numba's functions.
    try:
        package = metadata.version("sklearn_ltr")
    except metadata.PackageNotFoundError:  # run from a folder, not installed
        package = "unknown"
    python = f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}"
    releases = [release_of(module.__version__) for module in (numba, llvmlite)]
    return repr((package, python, *releases))


def release_of(version: str) -> tuple[int, ...]:
    """Return the first two numbers of a version."""
    return tuple(map(int, re.findall(r"\d+", version)[:2]))


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
    elif isinstance(numba_type, types.BaseTuple):
        if isinstance(numba_type, types.BaseNamedTuple):
            content.append(_class_content(numba_type.instance_class, []))
        content += [_type_content(item) for item in numba_type.types]
    elif isinstance(numba_type, types.Optional):
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
