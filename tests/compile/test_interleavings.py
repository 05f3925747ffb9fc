"""What threads tell each other is right in whatever order their steps are made.

A step reads or changes one cell of the announcements.  The source of `shared_kernels`
is run itself, with each step turned into a ``yield``, so that a search through all
states can choose, again and again, which thread goes on.  A thread that is late, or
sleeps, is one that is not chosen for long.

A processor, and a compiler, may change the order of a thread's steps only where no
other thread can tell: that is so if no two threads may touch a cell at the same time,
one of them to change it, other than by atomic operations.  This is checked in every
state, too.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any, NamedTuple

import pytest

from sklearn_ltr._core.compile import shared_kernels
from sklearn_ltr._core.compile.shared_kernels import ANNOUNCED, TAKING_PART

SOURCE = inspect.getsource(shared_kernels)

# The functions of which a call is one step, beside reading and writing a cell.  A call
# of a part is two: that it begins, and that it ends
ATOMIC = {"atomic_add", "atomic_exchange", "atomic_load", "wait_while"}
ON_CELLS = ATOMIC | {"load", "store"}
STEPS = ATOMIC | {"_wait_for_threads", "_raise_error"}

Step = tuple[Any, ...]  # a name and what it is given
Steps = Iterator[Step]  # a generator, which is sent what each step returns


class Fault(AssertionError):
    """What must never happen."""


# --- the source, step by step ---------------------------------------------------------


class _YieldSteps(ast.NodeTransformer):
    """Turns each step of a function into a ``yield``."""

    def __init__(self, functions: set[str]) -> None:
        self.functions = functions

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = node.func.id if isinstance(node.func, ast.Name) else None
        if name in STEPS:
            is_on_cells = getattr(node.args[0], "id", "") == "announcements"
            return _step(name, *node.args[is_on_cells:])
        if name in self.functions:
            return ast.YieldFrom(node)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        assert node.value.id == "announcements" and isinstance(node.ctx, ast.Load)
        return _step("load", node.slice)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        node.value = self.visit(node.value)
        (target,) = node.targets
        if isinstance(target, ast.Subscript):
            return ast.Expr(_step("store", target.slice, node.value))
        return node


def _step(name: str, *arguments: ast.expr) -> ast.Yield:
    return ast.Yield(ast.Tuple([ast.Constant(name), *arguments], ast.Load()))


def _call_part(function: int, arguments: int, number: int, n_parts: int) -> Steps:
    yield ("begin part", function, arguments, number, n_parts)
    return (yield ("end part", number))


def as_steps(source: str) -> dict[str, Callable[..., Steps]]:
    """Return the functions of the source that take announcements, as generators."""
    functions = {
        node.name: node
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef) and node.name not in STEPS
        if "announcements" in [argument.arg for argument in node.args.args]
    }
    yields = _YieldSteps({"_call_part", *functions})
    for node in functions.values():
        node.decorator_list = []
        node.body = [yields.visit(statement) for statement in node.body]
        for part in ast.walk(node):
            # a value that is read in the middle of a statement is in no local variable,
            # so in no key of a `Position`
            if isinstance(part, ast.Assign | ast.Expr | ast.Compare):
                assert sum(isinstance(x, ast.Yield) for x in ast.walk(part)) <= 1
    module = ast.Module(list(functions.values()), [])
    namespace = {**vars(shared_kernels), "int64": int, "_call_part": _call_part}
    exec(compile(ast.fix_missing_locations(module), "steps", "exec"), namespace)
    return namespace


def cell_names() -> dict[int, str]:
    """Return the constants by which the source names cells, by their values."""
    names = set()
    for node in ast.walk(ast.parse(SOURCE)):
        if isinstance(node, ast.Subscript):
            array, cell = node.value, node.slice
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in ATOMIC:
            array, cell = node.args[:2]
        else:
            continue
        if getattr(array, "id", "") == "announcements" and isinstance(cell, ast.Name):
            names.add(cell.id)
    return {getattr(shared_kernels, name): name for name in names}


CELLS = cell_names()


def described(step: Step | None) -> str:
    """Return a step, with the name of its cell."""
    if step is None:
        return "ended"
    what, *given = step
    if what in ON_CELLS:
        given[0] = CELLS[given[0]]
    return " ".join(map(str, (what, *given)))


# --- what threads do ------------------------------------------------------------------

# The steps of a calling thread, between those of `shared_kernels`: ("put", last) is a
# job for each other thread, to serve, as `ThreadTeam.share` gives it; ("put", None) is
# the end of the team.  ("call",) and ("return",) are around `_run_parts`.  RUN_FEWER is
# a run that one thread of the team shall not take part in.

SERVE, RELEASE, RUN, END = "serve", "release", "run", "end"
RUN_FEWER = "run fewer"


def calling_thread(
    code: dict[str, Any], n_threads: int, time: float, plan: list[str]
) -> Steps:
    """Do what a plan says."""
    cells = None
    for k, what in enumerate(plan):
        if what == SERVE:
            last = yield ("load", ANNOUNCED)
            yield ("put", last)
        elif what == RELEASE:
            yield from code["release"](cells)
        elif what in (RUN, RUN_FEWER):
            function, arguments = 100 + k, 200 + k
            n_absent = int(what == RUN_FEWER)
            yield ("call", function, arguments, n_threads - n_absent)
            yield from code["_run_parts"](
                function, arguments, cells, n_threads, n_absent, time
            )
            yield ("return",)
        else:
            yield ("put", None)


def other_thread(code: dict[str, Any], thread: int, n_threads: int) -> Steps:
    """Serve whenever there is a job."""
    n_jobs = 0
    while (last := (yield ("get", n_jobs))) is not None:
        yield from code["serve"](thread, n_threads, None, last)
        n_jobs += 1


class Position:
    """How far a thread is: its next step, and the way there."""

    def __init__(self, start: Callable[[], Steps], sent: tuple[Any, ...]) -> None:
        self.start, self.sent = start, sent
        steps = start()
        try:
            self.step: Step | None = next(steps)
            for value in sent:
                self.step = steps.send(value)
        except StopIteration:
            self.step = None  # it has ended
        # two ways that lead to the same lines with the same locals are one
        places = []
        inner: Any = steps
        while inner is not None and inner.gi_frame is not None:
            frame = inner.gi_frame
            local = tuple((k, v) for k, v in frame.f_locals.items() if k != "code")
            places.append((frame.f_code.co_name, frame.f_lasti, repr(local)))
            inner = inner.gi_yieldfrom
        self.key = tuple(places)


class Walk:
    """All positions of a thread that have been seen, each of them once."""

    def __init__(self, start: Callable[[], Steps]) -> None:
        self.start = start
        self.positions: list[Position] = []
        self._number: dict[Any, int] = {}
        self._next: dict[tuple[int, Any], int] = {}
        self._add(())

    def _add(self, sent: tuple[Any, ...]) -> int:
        position = Position(self.start, sent)
        number = self._number.setdefault(position.key, len(self.positions))
        if number == len(self.positions):
            self.positions.append(position)
        return number

    def after(self, number: int, value: Any) -> int:
        """Return the position after a step that has returned a value."""
        if (number, value) not in self._next:
            sent = (*self.positions[number].sent, value)
            self._next[number, value] = self._add(sent)
        return self._next[number, value]


class World(NamedTuple):
    """All that threads share: the cells, the jobs, and what must be true of parts."""

    cells: tuple[int, ...]
    jobs: tuple[int | None, ...] = ()
    called: tuple[int, ...] = ()  # function and arguments, () if these are gone
    most_parts: int = 0
    n_parts: int = 0
    begun: frozenset[int] = frozenset()
    ended: frozenset[int] = frozenset()
    failed: frozenset[int] = frozenset()
    raised: int | None = None

    def with_cell(self, cell: int, value: int) -> World:
        return self._replace(cells=(*self.cells[:cell], value, *self.cells[cell + 1 :]))


def make(step: Step, world: World, may_fail: bool) -> list[tuple[Any, World]]:
    """Return what a step may return, and the world then; nothing if it has to wait."""
    what, *given = step
    cells = world.cells
    if what in ("load", "atomic_load"):
        return [(cells[given[0]], world)]
    if what in ("store", "atomic_exchange"):
        return [(cells[given[0]], world.with_cell(*given))]
    if what == "atomic_add":
        cell, value = given
        return [(cells[cell], world.with_cell(cell, cells[cell] + value))]
    if what == "wait_while":
        cell, value = given
        return [(None, world)] if cells[cell] != value else []
    if what == "_wait_for_threads":  # for a time that nobody knows
        n_threads, time = given
        all_are_there = cells[TAKING_PART] >= n_threads - 1
        return [(None, world)] if all_are_there or time < float("inf") else []
    if what == "put":
        return [(None, world._replace(jobs=(*world.jobs, *given)))]
    if what == "get":
        return [(job, world) for job in world.jobs[given[0] :][:1]]
    if what == "call":
        *called, most_parts = given
        return [(None, World(cells, world.jobs, tuple(called), most_parts))]
    if what == "begin part":
        *called, number, n_parts = given
        if tuple(called) != world.called:
            raise Fault(f"part {number} is begun when its arguments are gone")
        if number in world.begun or not 0 <= number < n_parts:
            raise Fault(f"part {number} of {n_parts} is begun; {set(world.begun)} were")
        if n_parts > world.most_parts:
            raise Fault(f"there are {n_parts} parts, more than {world.most_parts}")
        if world.n_parts not in (0, n_parts):
            raise Fault(f"there are {world.n_parts} parts, and {n_parts}")
        begun = world.begun | {number}
        return [(None, world._replace(begun=begun, n_parts=n_parts))]
    if what == "end part":
        (number,) = given
        if number not in world.begun:
            raise Fault(f"part {number} is not ended when its arguments are gone")
        ended = world._replace(ended=world.ended | {number})
        failed = ended._replace(failed=world.failed | {number})
        return [((0, 0), ended), ((1, number), failed)][: 1 + may_fail]
    if what == "_raise_error":
        status, error = given
        return [(None, world._replace(raised=error if status else None))]
    assert what == "return"
    if world.ended != frozenset(range(world.n_parts)) or not world.ended:
        raise Fault(f"of {world.n_parts} parts, {set(world.ended)} are done")
    if world.raised not in (world.failed or {None}):
        raise Fault(f"{set(world.failed)} failed, the error of {world.raised} is told")
    return [(None, World(cells, world.jobs))]


def check_races(steps: list[Step | None]) -> None:
    """Raise a Fault if two threads may touch a cell at once, not by atomic steps."""
    touching = [step for step in steps if step is not None and step[0] in ON_CELLS]
    for one, other in combinations(touching, 2):
        kinds = {one[0], other[0]}
        are_atomic = not kinds & {"load", "store"}
        only_read = kinds <= {"load", "atomic_load", "wait_while"}
        if one[1] == other[1] and not are_atomic and not only_read:
            raise Fault(f"{described(one)}, {described(other)} at the same time")


def search(
    n_threads: int,
    plan: list[str],
    *,
    time: float = 1.0,
    may_fail: bool = False,
    source: str = SOURCE,
) -> int:
    """Visit all states; return how many there are, raise a Fault if one is wrong."""
    code = as_steps(source)
    starts = [lambda: calling_thread(code, n_threads, time, plan)]
    for thread in range(1, n_threads):
        starts.append(lambda thread=thread: other_thread(code, thread, n_threads))
    walks = [Walk(start) for start in starts]
    cells = tuple(new_cells(source))
    first = (World(cells), (0,) * n_threads)
    states, comes_from, ends = [first], {first: []}, []
    for state in states:  # grows meanwhile
        world, at = state
        steps = [walk.positions[k].step for walk, k in zip(walks, at, strict=True)]
        if steps == [None] * n_threads:
            ends.append(state)
        try:
            check_races(steps)
            for thread, step in enumerate(steps):
                for value, then in () if step is None else make(step, world, may_fail):
                    place = walks[thread].after(at[thread], value)
                    new = then, (*at[:thread], place, *at[thread + 1 :])
                    if new not in comes_from:
                        comes_from[new] = []
                        states.append(new)
                    comes_from[new].append(state)
        except Fault as fault:
            fault.add_note(told(state, comes_from, walks))
            raise
    # from each state, there is a way to an end: no thread waits for ever
    leads_to_end = set(ends)
    for state in ends:  # grows meanwhile
        new = [before for before in comes_from[state] if before not in leads_to_end]
        leads_to_end.update(new)
        ends.extend(dict.fromkeys(new))
    for state in states:
        if state not in leads_to_end:
            fault = Fault("a thread waits for ever")
            fault.add_note(told(state, comes_from, walks))
            raise fault
    return len(states)


def new_cells(source: str) -> list[int]:
    """Return the cells as `new_announcements` makes them."""
    (function,) = (
        node
        for node in ast.parse(source).body
        if getattr(node, "name", "") == "new_announcements"
    )
    module = ast.Module([function], [])
    namespace = dict(vars(shared_kernels))
    exec(compile(module, "cells", "exec"), namespace)
    return [int(value) for value in namespace["new_announcements"]()]


def told(state: Any, comes_from: dict[Any, list[Any]], walks: list[Walk]) -> str:
    """Return the shortest way to a state, a line for each step."""
    way = [state]
    while comes_from[way[-1]]:
        way.append(comes_from[way[-1]][0])
    way.reverse()
    lines = []
    for (_, before), (_, after) in zip(way[:-1], way[1:], strict=True):
        for k, walk in enumerate(walks):
            if before[k] != after[k]:
                step = described(walk.positions[before[k]].step)
                lines.append(f"thread {k}: {step}")
    for k, walk in enumerate(walks):
        step = described(walk.positions[state[1][k]].step)
        lines.append(f"next of thread {k}: {step}")
    return "\n".join(lines)


# --- what holds in all states ---------------------------------------------------------

# A team that runs kernels in a row, and a Python function in between
ORDINARY = [SERVE, RUN, RUN, RELEASE, SERVE, RUN, RELEASE, END]
# Ctrl-C comes between the jobs of the threads and the first announcement; or between
# two announcements, and the second job overtakes the release of the first
INTERRUPTED = [SERVE, RELEASE, SERVE, RUN, RELEASE, END]
OVERTAKEN = [SERVE, RUN, RELEASE, SERVE, RELEASE, SERVE, RUN, RELEASE, END]
LEFT_AT_ONCE = [SERVE, RELEASE, END]
# Fewer threads take part, and all of them again
FEWER = [SERVE, RUN_FEWER, RUN, RUN_FEWER, RELEASE, END]
PLANS = {
    "fewer": FEWER,
    "ordinary": ORDINARY,
    "interrupted": INTERRUPTED,
    "overtaken": OVERTAKEN,
    "left at once": LEFT_AT_ONCE,
}


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("time", [1.0, float("inf")], ids=["late or not", "all wait"])
def test_two_threads_are_right_in_every_order_of_steps(plan, time):
    assert search(2, PLANS[plan], time=time, may_fail=True) > 10


SHORT = [SERVE, RUN, RUN, RELEASE, END]  # for three threads, of more states


# with three threads, one of two others comes first
SHORT_FEWER = [SERVE, RUN_FEWER, RUN, RELEASE, END]
THREE = [SHORT, SHORT_FEWER, INTERRUPTED, LEFT_AT_ONCE]


@pytest.mark.parametrize("plan", THREE, ids=str)
@pytest.mark.parametrize("time", [1.0, float("inf")], ids=["late or not", "all wait"])
def test_three_threads_are_right_in_every_order_of_steps(plan, time):
    assert search(3, plan, time=time) > 10


def test_of_three_threads_that_fail_one_is_told():
    assert search(3, [SERVE, RUN, RELEASE, END], may_fail=True) > 100


# --- a wrong source is found ----------------------------------------------------------

# name: (text of the source, what stands there instead, what happens then)
MISTAKES = {
    "the caller does not wait for the parts": (
        "    _wait_for_parts(announcements)\n",
        "",
        "parts, .* are done",
    ),
    "a late thread does not see that it is too late": (
        "if 0 < place < n_threads:",
        "if place < n_threads:",
        "is begun",
    ),
    "a thread takes part that finds all places taken": (
        "if 0 < place < n_threads:",
        "if 0 < place:",
        "is begun|more than",
    ),
    "threads that found no place are counted": (
        "min(n_counted, n_threads - 1) - n_absent",
        "n_counted - n_absent",
        "more than|waits for ever",
    ),
    "threads that shall not take part are counted": (
        "min(n_counted, n_threads - 1) - n_absent",
        "min(n_counted, n_threads - 1)",
        "more than|waits for ever",
    ),
    "places are not counted from the first that is free": (
        "    place -= announcements[N_ABSENT]\n",
        "",
        "is begun",
    ),
    "the announcement is not closed": (
        "atomic_add(announcements, TAKING_PART, TOO_LATE)",
        "atomic_load(announcements, TAKING_PART)",
        "is begun",
    ),
    "the first announcement is open before it is made": (
        "    announcements[TAKING_PART] = TOO_LATE",
        "    ",
        "part 1 of 1 is begun",
    ),
    "threads do not wait for the start": (
        "    wait_while(announcements, STARTED, int64(0))\n",
        "",
        "at the same time",
    ),
    "the start of the announcement before is not taken back": (
        "    atomic_exchange(announcements, STARTED, int64(0))\n",
        "",
        "at the same time",
    ),
    "the announcement is opened before the last start is taken back": (
        """    atomic_exchange(announcements, STARTED, int64(0))
    # a thread that is late for the announcement before may take part from here on
    atomic_exchange(announcements, TAKING_PART, n_absent)
""",
        """    atomic_exchange(announcements, TAKING_PART, n_absent)
    atomic_exchange(announcements, STARTED, int64(0))
""",
        "at the same time",
    ),
    "the start is made before the threads are counted": (
        """    atomic_exchange(announcements, N_RUNNING, n_others)
    atomic_exchange(announcements, STARTED, int64(1))
""",
        """    atomic_exchange(announcements, STARTED, int64(1))
    atomic_exchange(announcements, N_RUNNING, n_others)
""",
        "waits for ever",
    ),
    "a thread does not say that its part is done": (
        "    atomic_add(announcements, N_RUNNING, -1)\n",
        "",
        "waits for ever",
    ),
    "a thread says that its part is done before it is": (
        "    _do_part(announcements, thread if all_are_there else place)\n"
        "    atomic_add(announcements, N_RUNNING, -1)\n",
        "    atomic_add(announcements, N_RUNNING, -1)\n"
        "    _do_part(announcements, thread if all_are_there else place)\n",
        "parts, .* are done",
    ),
    "threads have their own parts when some are missing": (
        "thread if all_are_there else place",
        "thread",
        "part 2 of 2",
    ),
    "the release is not counted": (
        """int64(NOTHING))
    atomic_add(announcements, ANNOUNCED, 1)
""",
        "int64(NOTHING))\n",
        "waits for ever",
    ),
    "the release is counted before it is written": (
        """    atomic_exchange(announcements, FUNCTION, int64(NOTHING))
    atomic_add(announcements, ANNOUNCED, 1)
""",
        """    atomic_add(announcements, ANNOUNCED, 1)
    atomic_exchange(announcements, FUNCTION, int64(NOTHING))
""",
        "waits for ever",
    ),
    "the function is written while late threads may read it": (
        "    atomic_exchange(announcements, FUNCTION, function)\n",
        "    announcements[FUNCTION] = function\n",
        "at the same time",
    ),
    "every thread that fails keeps its error": (
        "if status != 0 and atomic_add(announcements, N_FAILED, 1) == 0:",
        "if status != 0 and atomic_add(announcements, N_FAILED, 1) >= 0:",
        "at the same time",
    ),
    "an error is told again after the next announcement": (
        "    announcements[N_FAILED] = 0\n",
        "",
        "the error of .* is told",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_the_order_of_steps_is_found(mistake):
    right, wrong, message = MISTAKES[mistake]
    assert SOURCE.count(right) == 1
    source = SOURCE.replace(right, wrong)
    with pytest.raises(Fault, match=message):
        for n_threads in (2, 3):
            for plan in (LEFT_AT_ONCE, INTERRUPTED, SHORT, SHORT_FEWER):
                search(n_threads, plan, may_fail=n_threads == 2, source=source)
        search(3, [SERVE, RUN, RELEASE, END], may_fail=True, source=source)


def test_the_docstring_lists_all_cells():
    assert all(0 <= cell < shared_kernels.N_CELLS for cell in CELLS)
    rule = re.search("^=.*$", shared_kernels.__doc__, flags=re.MULTILINE).group()
    table = shared_kernels.__doc__.split(rule)[2]
    listed = re.findall(r"^([A-Z_]+)", table, flags=re.MULTILINE)
    assert sorted(listed) == sorted(CELLS.values())
