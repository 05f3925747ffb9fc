"""How numba is made to compile kernels in less time, with the same machine code.

Three shortcuts, all inside numba's own compiler: Python's garbage collector is paused,
compile options are compared quickly, and no machine code is made of sub-kernels.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator
from typing import Any

from numba import _dynfunc
from numba.core.codegen import JITCodeLibrary, RuntimeLinker
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags
from numba.core.compiler_machinery import register_pass
from numba.core.dispatcher import _FunctionCompiler  # type: ignore[attr-defined]
from numba.core.targetconfig import TargetConfig
from numba.core.typed_passes import NativeLowering


def shorten_compilation(dispatcher: Any, pipeline: type[CompilerBase]) -> None:
    """Replace the compiler of a dispatcher that has compiled nothing yet."""
    dispatcher._compiler = _QuickFunctionCompiler(
        dispatcher.py_func,
        dispatcher.targetdescr,
        dispatcher.targetoptions,
        dispatcher.locals,
        pipeline,
    )


class _QuickFunctionCompiler(_FunctionCompiler):
    """The compiler of a dispatcher, with the garbage collector paused."""

    def _compile_core(self, arguments: Any, return_type: Any) -> Any:
        with _paused_collector():
            return super()._compile_core(arguments, return_type)

    def _customize_flags(self, flags: Flags) -> Flags:
        return _QuickFlags(flags)


@contextlib.contextmanager
def _paused_collector() -> Iterator[None]:
    """Pause the garbage collector.

    While numba compiles, objects become ever more and hardly any become garbage.  The
    collector would visit them all, with those of the whole process, again and again.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class _QuickFlags(Flags):
    """Compile options, which are part of the key of each type that numba looks up.

    numba compares and hashes them option by option, through properties.
    """

    def __eq__(self, other: object) -> bool:
        if isinstance(other, TargetConfig):
            return self is other or self._all() == _QuickFlags._all(other)
        return NotImplemented

    def __hash__(self) -> int:
        return _HASH

    def _all(self: TargetConfig) -> dict[str, Any]:
        return {**_DEFAULTS, **self._values}


_DEFAULTS = {name: option.default for name, option in Flags.options.items()}
_HASH = hash(Flags())  # of the names of all options: the same for all values
_QuickFlags.__name__ = Flags.__name__  # a part of the names in machine code


class _LinkedLibrary(JITCodeLibrary):
    """The code of a sub-kernel for LLVM: linked to kernels, never run by itself."""

    def _finalize_final_module(self) -> None:
        variables = self._final_module.global_variables
        if any(
            variable.name.startswith(RuntimeLinker.PREFIX) for variable in variables
        ):
            super()._finalize_final_module()  # calls itself through a pointer
        else:
            self._finalize_dynamic_globals()
            self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _LinkedLowering(NativeLowering):
    """The pass that makes code for LLVM, without the machine code that follows."""

    _name = "sklearn_ltr_linked_lowering"

    def run_pass(self, state: Any) -> bool:
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


class SubKernelCompiler(CompilerBase):
    """numba's passes for compiled functions, the last of them replaced."""

    def define_pipelines(self) -> list[Any]:
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        manager.passes = [
            (_LinkedLowering if kind is NativeLowering else kind, description)
            for kind, description in manager.passes
        ]
        manager.finalize()
        return [manager]
