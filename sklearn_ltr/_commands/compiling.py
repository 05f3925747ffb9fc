"""The command compile: compile all kernels before they are needed.

It runs processes that each take all steps (:mod:`.small_fits`), beginning with another
one; each claims what it compiles, and reads what others have compiled.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import queue
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import joblib

from sklearn_ltr._commands.arguments import Commands, refusal
from sklearn_ltr._core.compile import cpus, helper


def add_compile(commands: Commands) -> None:
    """Add the command, with its arguments, to the parser."""
    parser = commands.add_parser(
        "compile",
        help="compile all kernels, and store the machine code on disk",
        epilog="Without arguments it is stored where fits look for it: in the package "
        "or, if it is set, in NUMBA_CACHE_DIR, which must be set then as it is now.",
    )
    cpu = parser.add_argument(
        "--cpu",
        choices=list(cpus.LEVELS),
        help="for all CPUs that have these instructions; with --into",
    )
    parser.add_argument(
        "--into", type=Path, metavar="FOLDER", help="the folder for these kernels"
    )
    parser.set_defaults(run=run_compile, refuse=refusal(parser, cpu))


def run_compile(given: argparse.Namespace) -> None:
    """Compile in several processes; print the steps."""
    if given.cpu is None and given.into is None:
        compile_all({})
    elif given.cpu is None or given.into is None:
        given.refuse(given, "--cpu and --into go together")
    else:
        # the steps run what they compile
        own = cpus.levels_of(cpus.features_of_this_cpu())
        if given.cpu not in own:
            has = f"it has {own[0]}" if own else "it has none of the levels"
            raise ValueError(f"this CPU cannot run code for {given.cpu}: {has}")
        given.into.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=given.into) as cache:
            of_cpu = cpus.environment_for(given.cpu)
            compile_all(of_cpu | {"NUMBA_CACHE_DIR": cache})
            for file in Path(cache).rglob("*.nbc"):
                file.replace(given.into / file.name)


def compile_all(environment: dict[str, str]) -> None:
    """Compile all kernels by as many processes as there are CPUs."""
    from sklearn_ltr._commands import small_fits

    start, steps = time.perf_counter(), list(small_fits.STEPS)
    n_processes = min(joblib.cpu_count(), len(steps))
    firsts = [i * len(steps) // n_processes for i in range(n_processes)]
    orders = [steps[first:] + steps[:first] for first in firsts]
    done: dict[str, None] = {}
    module = small_fits.__name__
    commands = [helper.command(module, *order) for order in orders]
    for step in lines_of(commands, environment):
        if step not in done:
            done[step] = None
            print(f"{step:<40}{time.perf_counter() - start:6.1f} s", flush=True)


def lines_of(commands: list[list[str]], environment: dict[str, str]) -> Iterator[str]:
    """Run commands side by side; yield the lines that they print."""
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    def read(process: subprocess.Popen[str]) -> None:
        for line in process.stdout or ():
            lines.put(line.rstrip("\n"))
        lines.put(None)

    with contextlib.ExitStack() as stack:
        processes, own = [], os.environ | {helper.SWITCH: "0"} | environment
        for command in commands:
            process = subprocess.Popen(
                command, env=own, stdout=subprocess.PIPE, text=True
            )
            stack.enter_context(process)
            stack.callback(process.kill)  # an error, or Ctrl-C, ends all
            processes.append(process)
            threading.Thread(target=read, args=(process,), daemon=True).start()
        for _ in processes:
            while (line := lines.get()) is not None:
                yield line
        if any(process.wait() for process in processes):
            raise OSError("a process that compiles has failed, with the error above")
