"""Shortcuts inside numba's compiler, which then takes less time; machine code on disk.

Python's garbage collector is paused, and sub-kernels are optimized and turned into
machine code as a part of kernels only.  All of this is private to numba, so `kernels`
imports it only with the versions of numba that it was tested with.
"""

from __future__ import annotations

import contextlib
import functools
import gc
from collections.abc import Callable, Iterator
from typing import Any

import numba
from numba import _dynfunc
from numba.core.codegen import JITCodeLibrary, RuntimeLinker
from numba.core.compiler import Compiler, CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.dispatcher import _FunctionCompiler
from numba.core.typed_passes import NativeLowering

from sklearn_ltr._compile.cache import KernelCache


def stored_kernel(function: Callable[..., Any], **options: Any) -> Any:
    """Return the dispatcher of a kernel, whose machine code is stored on disk."""
    dispatcher = numba.njit(no_cfunc_wrapper=True, **options)(function)
    dispatcher._compiler = _KernelCompiler(
        function,
        dispatcher.targetdescr,
        dispatcher.targetoptions,
        dispatcher.locals,
        Compiler,
    )
    dispatcher._cache = KernelCache(dispatcher)
    return dispatcher


class SubKernel:
    """A compiled function that kernels may call and Python may not.

    numba types a global variable by its attribute `_numba_type_`, so in a kernel this
    object stands for the dispatcher.
    """

    # What lets Python call machine code would be a fifth of the time that the first fit
    # compiles.  Sub-kernels are not stored on disk: kernels are, with all that they
    # call.

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        dispatcher = numba.njit(
            no_cpython_wrapper=True,
            no_cfunc_wrapper=True,
            pipeline_class=_SubKernelCompiler,
            **options,
        )(function)
        functools.update_wrapper(self, dispatcher.py_func)
        self.py_func = dispatcher.py_func
        self._numba_type_ = dispatcher._numba_type_
        self._dispatcher = dispatcher  # which its numba type holds by a weak reference

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Raise TypeError."""
        raise TypeError(
            f"{self.py_func.__qualname__} is compiled for kernels only: Python cannot "
            "call it.  Call `.py_func`, the Python function, or call it in a kernel."
        )


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
    gc.disable()
    try:
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
