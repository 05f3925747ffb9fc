"""The parts of numba and llvmlite that are private: no other file uses any.

They let numba compile in less time, and store machine code:

- While a kernel is compiled, Python's garbage collector is paused.
- Sub-kernels are optimized and turned into machine code as a part of kernels only.
- A compiled kernel is packed into bytes, and unpacked in another process.
- Loops of some functions use longer vectors.

:mod:`.kernels` uses them with versions of numba that they were tested with, and with
a newer one if :func:`find_fault` finds none.  Otherwise numba's public decorators
compile the kernels, in every process.  The results are the same bits.
"""

from __future__ import annotations

import contextlib
import gc
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import _dynfunc
from numba.core import sigutils
from numba.core.caching import NullCache as NullCache  # what a cache must have
from numba.core.codegen import JITCodeLibrary, RuntimeLinker
from numba.core.compiler import (
    Compiler,
    CompilerBase,
    CompileResult,
    DefaultPassBuilder,
)
from numba.core.compiler_machinery import register_pass
from numba.core.dispatcher import _FunctionCompiler
from numba.core.serialize import dumps
from numba.core.typed_passes import NativeLowering
from numba.misc.appdirs import AppDirs


def new_kernel(function: Callable[..., Any], **options: Any) -> Any:
    """Return the dispatcher of a function that Python and other kernels call."""
    dispatcher = numba.njit(no_cfunc_wrapper=True, **options)(function)
    dispatcher._compiler = _KernelCompiler(
        function,
        dispatcher.targetdescr,
        dispatcher.targetoptions,
        dispatcher.locals,
        Compiler,
    )
    return dispatcher


def new_subkernel(function: Callable[..., Any], **options: Any) -> Any:
    """Return the dispatcher of a function that only kernels call."""
    # What lets Python call machine code would be a fifth of the time that the first fit
    # compiles.  Sub-kernels are not stored on disk: kernels are, with all that they
    # call.
    return numba.njit(
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
        pipeline_class=_SubKernelCompiler,
        **options,
    )(function)


# --- machine code on disk -------------------------------------------------------------


def packed(result: Any) -> bytes:
    """Return a compiled signature of a kernel as bytes."""
    code: bytes = dumps(result._reduce())
    return code


def unpacked(code: bytes, target_context: Any) -> Any:
    """Return a compiled signature of a kernel from its bytes."""
    return CompileResult._rebuild(target_context, *pickle.loads(code))


def argument_types(signature: Any) -> tuple[Any, ...]:
    """Return the types of the arguments of a signature."""
    arguments: tuple[Any, ...] = sigutils.normalize_signature(signature)[0]
    return arguments


def cache_folder_of_user() -> str:
    """Return the folder for numba's files in the user's home."""
    folder: str = AppDirs(appname="numba", appauthor=False).user_cache_dir
    return folder


def let_vectors_be_long(function: Any) -> None:
    """Let the loops of a function of LLVM use vectors of 512 bits."""
    # not by its own `add`, which does not know this attribute
    set.add(function.attributes, '"prefer-vector-width"="512"')


# --- less time to compile -------------------------------------------------------------


class _KernelCompiler(_FunctionCompiler):
    """The compiler of a kernel and all that it calls, with the collector paused."""

    def _compile_core(self, arguments: Any, return_type: Any) -> Any:
        """Compile a signature."""
        with _paused_collector():
            result = super()._compile_core(arguments, return_type)
        # Sub-kernels have no addresses of their own to which numba could have written
        # these.  Errors with values in their messages are made from them.
        for environment in result._find_referenced_environments():
            result.codegen.set_env(environment.env_name, environment)
        return result


@contextlib.contextmanager
def _paused_collector() -> Iterator[None]:
    """Pause the garbage collector."""
    # While numba compiles, objects become ever more and hardly any become garbage.  The
    # collector would visit them all, with those of the whole process, again and again.
    was_enabled = gc.isenabled()
    try:
        gc.disable()  # Ctrl-C may come right after it
        yield
    finally:
        if was_enabled:
            gc.enable()


class _LinkedLibrary(JITCodeLibrary):
    """The code of a sub-kernel for LLVM: linked to kernels, never run by itself."""

    # Each function is simplified by itself, but inlined and optimized as a part of
    # kernels only.  (Not simplified either, trees would take a tenth longer to grow.)

    def _optimize_final_module(self) -> None:
        """Leave the library as it is, unless it needs machine code."""
        if self._calls_itself:
            super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        """Finish the library, without machine code unless it needs some."""
        if self._calls_itself:
            super()._finalize_final_module()
        else:
            self._finalize_dynamic_globals()
            self._finalized = True

    @property
    def _calls_itself(self) -> bool:
        """Whether it holds a function that calls itself, through a pointer."""
        variables = self._final_module.global_variables
        return any(
            variable.name.startswith(RuntimeLinker.PREFIX) for variable in variables
        )


@register_pass(mutates_CFG=True, analysis_only=False)
class _LinkedLowering(NativeLowering):
    """The pass that makes code for LLVM, without the machine code that follows."""

    _name = "sklearn_ltr_linked_lowering"

    def run_pass(self, state: Any) -> bool:
        """Make code for LLVM, and register it as the code of the function."""
        codegen = state.targetctx.codegen()
        state.library = library = _LinkedLibrary(codegen, state.func_id.func_qualname)
        compile_only = state.flags.no_compile
        state.flags.no_compile = True
        super().run_pass(state)
        state.flags.no_compile = compile_only
        library.finalize()
        result = state["cr"]
        # What callers find the code by, with address 0: Python cannot call it.
        handle = _dynfunc.make_function(
            result.fndesc.lookup_module(),
            result.fndesc.qualname,
            "",
            0,
            result.env,
            (library,),
        )
        state.targetctx.insert_user_function(handle, result.fndesc, [library])
        state["cr"] = result._replace(cfunc=handle)
        return True


class _SubKernelCompiler(CompilerBase):
    """numba's passes for compiled functions, the last of them replaced."""

    def define_pipelines(self) -> list[Any]:
        """Return numba's passes, with our lowering."""
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        manager.passes = [
            (_LinkedLowering if kind is NativeLowering else kind, description)
            for kind, description in manager.passes
        ]
        manager.finalize()
        return [manager]


# --- whether all of this works --------------------------------------------------------


def find_fault() -> str | None:
    """Return what does not work with this version of numba, None if all does."""
    try:
        return _try()
    except Exception as error:  # whatever a change inside numba may lead to
        return repr(error)


def _try() -> str | None:
    """Use all parts once; return what gives another result than it should."""

    def item(x: Any, i: int) -> float:
        if x[i] < 0.0:
            raise ValueError("below 0", i)
        return 0.5 * float(x[i])

    item = new_subkernel(item)

    def sum_of_halves(x: Any) -> float:
        total = 0.0
        for i in range(len(x)):
            total += item(x, i)
        return total

    kernel, x = new_kernel(sum_of_halves), np.array([2.0, 4.0])
    saved: list[Any] = []
    kernel._cache.save_overload = lambda _, result: saved.append(packed(result))
    compiled = kernel(x)
    again = unpacked(saved[0], kernel.targetctx).entry_point(x)
    if (compiled, again) != (3.0, 3.0):
        return f"3.0 is {compiled} and, stored, {again}"
    try:
        kernel(-x)
    except ValueError as error:
        if error.args != ("below 0", 0):
            return f"an error has the arguments {error.args}"
    else:
        return "no error"
    function = ir.Function(ir.Module(), ir.FunctionType(ir.VoidType(), ()), "f")
    let_vectors_be_long(function)
    return None if "prefer-vector-width" in str(function) else "no attribute"
