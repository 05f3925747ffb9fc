"""The team of threads: it starts whole, works together, and can never hang."""

from __future__ import annotations

import gc
import inspect
import os
import subprocess
import sys
import threading
import time
import weakref
from multiprocessing import current_process

import joblib
import numpy as np
import pytest

from sklearn_ltr import LambdaMARTRanker, RankNetRanker
from sklearn_ltr._core.compile import (
    INTERPRETED,
    ThreadTeam,
    effective_n_threads,
    fetch_add,
    kernel,
    new_barrier,
    range_kernel,
    shared_kernel,
    threads,
    wait_at_barrier,
)
from sklearn_ltr._core.compile.shared_kernels import new_announcements
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.ensemble import BaggingRanker

SECONDS = 60  # whatever takes longer hangs


def run_script(script: str) -> str:
    """Run a script in a new process and return what it printed."""
    return subprocess.run(
        [sys.executable, "-c", script],
        check=True,
        timeout=3 * SECONDS,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout


# --- how many threads ---------------------------------------------------------------


def test_n_jobs_is_counted_as_joblib_counts(monkeypatch):
    much = 10**12
    if INTERPRETED:
        assert effective_n_threads(4, much) == 1
        return
    assert 1 <= effective_n_threads(None, much) <= joblib.cpu_count()
    assert effective_n_threads(-1, much) == effective_n_threads(None, much)
    assert effective_n_threads(None, 1) == 1
    assert effective_n_threads(-joblib.cpu_count() - 5, much) == 1


@pytest.mark.skipif(INTERPRETED, reason="one thread interprets")
def test_n_jobs_beyond_the_cores_of_the_process_asks_for_these_only(monkeypatch):
    monkeypatch.setattr(joblib, "cpu_count", lambda: 3)
    found = [effective_n_threads(n, 10**12) for n in (1, 2, 3, 4, 5000)]
    assert found == [1, 2, 3, 3, 3]
    assert effective_n_threads(2, 0) == 2  # as asked for, however little there is to do
    monkeypatch.setattr(joblib, "cpu_count", lambda: 0)
    assert effective_n_threads(2, 0) == 1


@pytest.mark.skipif(INTERPRETED, reason="one thread interprets")
def test_a_daemonic_process_gets_one_thread_without_a_warning(monkeypatch):
    """Workers of Dask are daemonic; joblib would warn of them in every fit."""
    monkeypatch.setitem(current_process()._config, "daemon", True)
    with pytest.warns(UserWarning, match="n_jobs=1"):
        assert joblib.effective_n_jobs(-1) == 1
    assert effective_n_threads(None, 10**12) == 1  # a warning would be an error


def test_a_query_is_scored_without_threads_whatever_n_jobs_is(monkeypatch):
    made = make_ranking(20, random_state=0)
    y, groups = made.target, made.groups
    X = (made.data - made.data.mean(axis=0)) / made.data.std(axis=0)
    rankers = [
        LambdaMARTRanker(n_estimators=3, n_jobs=2).fit(X, y, groups=groups),
        RankNetRanker(max_iter=1, n_jobs=2).fit(X, y, groups=groups),
    ]
    monkeypatch.setattr(threading.Thread, "start", None)
    for ranker in rankers:
        ranker.predict(X[:100])
        with pytest.raises(ValueError, match="n_jobs must be"):
            ranker.set_params(n_jobs=0).predict(X[:100])


# --- running ------------------------------------------------------------------------


def in_each_thread(team, function, *arguments):
    """Call ``function(k, *arguments)`` in thread after thread, which meet before."""
    n_threads = max(1, team.n_threads)
    barrier = threading.Barrier(n_threads)

    def call(k):
        barrier.wait(timeout=SECONDS)
        function(k, *arguments)

    team.map(call, range(n_threads))


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_a_team_calls_a_function_in_all_threads(n_threads):
    seen, names = [], set()

    def note(k, *arguments):
        seen.append((k, *arguments))
        names.add(threading.get_ident())

    with ThreadTeam(n_threads) as team:
        for _ in range(3):
            in_each_thread(team, note, "a", 1)
    assert sorted(seen) == sorted([(k, "a", 1) for k in range(n_threads)] * 3)
    assert len(names) == n_threads


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("n_items", [0, 1, 2, 100])
def test_results_come_in_the_order_of_the_items(n_threads, n_items):
    def slow_square(k, other):
        time.sleep(0.001 * (k % 3))
        return k * other

    with ThreadTeam(n_threads) as team:
        found = team.map(slow_square, range(n_items), range(n_items))
    assert found == [k * k for k in range(n_items)]


def test_the_first_of_several_errors_is_raised_and_no_item_is_begun_after_it():
    begun = []

    def fail(k):
        begun.append(k)
        time.sleep(0.1 * (3 - k))
        raise RuntimeError(f"item {k}")

    with ThreadTeam(3) as team:
        for _ in range(2):
            begun.clear()
            with pytest.raises(RuntimeError, match="item 0"):
                team.map(fail, range(50))
            assert sorted(begun) == [0, 1, 2]


@pytest.mark.parametrize("thread", [0, 1])
def test_a_thread_that_is_busy_is_not_waited_for(thread):
    with ThreadTeam(2) as team:
        busy = threading.Event()
        team._inboxes[thread].put(lambda: busy.wait(SECONDS))
        assert team.map(abs, [-1, -2, -3]) == [1, 2, 3]
        # the caller does the part of thread 0; an infinite time waits for thread 1
        visits, time = np.zeros(2), 1e6 if thread == 1 else np.inf
        if not INTERPRETED:
            team.share(time, visit_together, new_barrier(), visits)
            assert visits.tolist() == ([1, 0] if thread == 1 else [1, 1])
        assert not busy.is_set()
        busy.set()


def test_teams_may_be_nested():
    pairs = set()

    def inner(thread, outer_thread):
        pairs.add((outer_thread, thread))

    def outer(thread):
        with ThreadTeam(2) as team:
            in_each_thread(team, inner, thread)

    with ThreadTeam(2) as team:
        in_each_thread(team, outer)
    assert pairs == {(0, 0), (0, 1), (1, 0), (1, 1)}


@kernel
def count_numbers(thread, counter, fetched_by):
    number = fetch_add(counter)
    while number < fetched_by.shape[1]:
        fetched_by[thread, number] += 1
        number = fetch_add(counter)


@pytest.mark.parametrize("n_threads", [1] if INTERPRETED else [1, 2, 5])
def test_every_number_is_fetched_by_one_thread(n_threads):
    counter, fetched_by = np.zeros(1, dtype=np.int64), np.zeros((n_threads, 100_000))
    with ThreadTeam(n_threads) as team:
        in_each_thread(team, count_numbers, counter, fetched_by)
    np.testing.assert_array_equal(fetched_by.sum(axis=0), 1)
    assert counter[0] == fetched_by.shape[1] + n_threads


@shared_kernel
def visit_together(thread, n_threads, barrier, visits):
    visits[thread] += 1
    wait_at_barrier(barrier, n_threads)


@range_kernel
def note_numbers(first, last, noted):
    for number in range(first, last):
        noted[number] += 1


@pytest.mark.parametrize("n_threads", [1] if INTERPRETED else [1, 2, 5])
def test_a_shared_kernel_is_called_once_in_each_thread(n_threads):
    visits, barrier, seen = np.zeros(n_threads), new_barrier(), []
    with ThreadTeam(n_threads) as team:
        for k in range(100):
            team.share(np.inf, visit_together, barrier, visits)
            if k % 10 == 3:  # back to the interpreter, and to machine code again
                in_each_thread(team, seen.append)
    np.testing.assert_array_equal(visits, 100)
    assert sorted(seen) == sorted([*range(n_threads)] * 10)


@pytest.mark.parametrize("n_threads", [1] if INTERPRETED else [1, 2, 5])
@pytest.mark.parametrize("n", [0, 1, 3, 1000])
def test_every_number_is_in_one_range_of_one_thread(n_threads, n):
    noted = np.zeros(n)
    with ThreadTeam(n_threads) as team:
        bounds = team.divide(np.cumsum(np.arange(n + 1)))
        assert bounds[0] == 0 and bounds[-1] == n and (np.diff(bounds) >= 0).all()
        for _ in range(3):
            team.share_ranges(np.inf, bounds, note_numbers, noted)
    np.testing.assert_array_equal(noted, 3)


@pytest.mark.skipif(INTERPRETED, reason="one thread interprets")
def test_what_takes_less_time_than_threads_take_to_begin_is_done_by_the_caller(
    monkeypatch,
):
    monkeypatch.setattr(threads, "MIN_SHARED_TIME", 1e10)
    monkeypatch.setattr(threads, "MIN_TIME_TO_BEGIN", 1e11)
    visits, barrier = np.zeros(2), new_barrier()
    with ThreadTeam(2) as team:
        for time, shared in ((9e10, 0), (1e11, 1), (1e10, 2), (9e9, 2)):
            team.share(time, visit_together, barrier, visits)
            assert visits[1] == shared
        in_each_thread(team, lambda thread: None)
        team.share(9e10, visit_together, barrier, visits)
        assert visits.tolist() == [5, 2]


@shared_kernel
def allocate_much(thread, n_threads, n):
    if thread == n_threads - 1:
        np.empty(n)[0] = 1.0


@pytest.mark.skipif(INTERPRETED, reason="one thread interprets")
def test_a_thread_without_memory_raises_an_error_when_all_have_ended():
    visits, barrier = np.zeros(3), new_barrier()
    with ThreadTeam(3) as team:
        with pytest.raises(MemoryError, match="allocate_much"):
            team.share(np.inf, allocate_much, 2**57)
        team.share(np.inf, visit_together, barrier, visits)
    np.testing.assert_array_equal(visits, 1)


@pytest.mark.skipif(INTERPRETED, reason="one thread interprets")
def test_the_caller_does_not_wait_for_threads_that_do_not_come():
    visits, barrier = np.zeros(3), new_barrier()
    for nanoseconds in (0.0, 1e3, 1e12):
        announced = new_announcements(), 3, 0, nanoseconds
        visit_together.run_parts(*announced, barrier, visits)
    assert visits.tolist() == [3, 0, 0]


@pytest.mark.skipif(INTERPRETED, reason="one thread interprets")
def test_threads_that_sleep_take_part_again():
    visits, barrier = np.zeros(2), new_barrier()
    with ThreadTeam(2) as team:
        for _ in range(3):
            team.share(np.inf, visit_together, barrier, visits)
            time.sleep(0.05)
    np.testing.assert_array_equal(visits, 3)


# --- what a team leaves behind ------------------------------------------------------


class Argument:
    """Something that can be seen to vanish."""


def wait_until(condition) -> bool:
    for _ in range(200):
        gc.collect()
        if condition():
            return True
        time.sleep(0.01)
    return False


def test_idle_threads_keep_no_arguments_alive():
    with ThreadTeam(2) as team:
        argument = Argument()
        gone = weakref.ref(argument)
        team.map(lambda argument: None, [argument] * 2)
        del argument
        assert wait_until(lambda: gone() is None)


def test_a_team_that_is_never_exited_ends_with_its_last_reference():
    before = set(threading.enumerate())
    team = ThreadTeam(3).__enter__()
    own = set(threading.enumerate()) - before
    assert len(own) == 3
    del team
    assert wait_until(lambda: not any(thread.is_alive() for thread in own))


AT_THE_END = """
import atexit, threading
from sklearn_ltr._core.compile import ThreadTeam

def work():
    barrier, seen = threading.Barrier(2), []
    with ThreadTeam(2) as team:
        def note(thread):
            if team.n_threads == 2:
                barrier.wait(20)
            seen.append(thread)
        team.map(note, range(team.n_threads))
        assert sorted(seen) == list(range(team.n_threads)), seen
    print("done", flush=True)

never_exited = ThreadTeam(2).__enter__()
never_exited.map(lambda item: None, range(2))
outlive = threading.main_thread().join
threading.Thread(target=lambda: (outlive(), work())).start()
atexit.register(work)
"""


def test_teams_work_while_the_interpreter_ends_and_let_it_end():
    assert run_script(AT_THE_END) == "done\n" * 2


# --- threads that cannot be started -------------------------------------------------


@pytest.fixture
def refuse_thread(monkeypatch):
    """Let the system refuse every thread from the k-th that a team starts."""
    start = threading.Thread.start

    def set_limit(k):
        started = []

        def start_some(thread):
            if len(started) >= k:
                raise RuntimeError("can't start new thread")
            started.append(thread)
            start(thread)

        monkeypatch.setattr(threading.Thread, "start", start_some)

    return set_limit


@pytest.mark.parametrize("k", [0, 1, 2, 3])
def test_a_team_works_with_the_threads_that_could_be_started(refuse_thread, k):
    before = threading.active_count()
    refuse_thread(k)
    n_threads, seen = max(1, k), []
    with ThreadTeam(4) as team:
        assert team.n_threads == n_threads
        in_each_thread(team, seen.append)
        in_each_thread(team, seen.append)
    assert sorted(seen) == sorted([*range(n_threads)] * 2)
    assert threading.active_count() <= before


def test_all_threads_have_started_before_any_of_them_works(monkeypatch):
    events = []
    start = threading.Thread.start

    def slow_start(thread):
        time.sleep(0.05)
        start(thread)
        events.append("started")

    monkeypatch.setattr(threading.Thread, "start", slow_start)
    with ThreadTeam(3) as team:
        in_each_thread(team, lambda thread: events.append("worked"))
    assert events == ["started"] * 3 + ["worked"] * 3


@pytest.mark.skipif(INTERPRETED, reason="one thread interprets")
@pytest.mark.usefixtures("four_cores")
@pytest.mark.parametrize(
    "model",
    [
        LambdaMARTRanker(n_estimators=3, random_state=0, n_jobs=4),
        BaggingRanker(LambdaMARTRanker(n_estimators=2), 4, random_state=0, n_jobs=4),
    ],
    ids=["ranker", "bag"],
)
def test_a_fit_gives_the_same_model_with_the_threads_that_could_be_started(
    model, monkeypatch
):
    data, start = make_ranking(20, random_state=0), threading.Thread.start
    before, scores = threading.active_count(), set()
    for limit in (99, 0, 1, 2, 3, 5):

        def start_some(thread, limit=limit):
            if threading.active_count() - before >= limit:
                raise RuntimeError("can't start new thread")
            start(thread)

        monkeypatch.setattr(threading.Thread, "start", start_some)
        model.fit(data.data, data.target, groups=data.groups)
        scores.add(model.predict(data.data).tobytes())
    assert len(scores) == 1


# --- Ctrl-C -------------------------------------------------------------------------


def interrupted_at(step: int, function) -> bool:
    """Press Ctrl-C before the line number `step` that `function` runs of the team's.

    (Not before a line of the standard library: `threading` itself is not safe there.)
    Returns whether there are so many lines.
    """
    lines = 0

    def trace(frame, event, argument):
        nonlocal lines
        if frame.f_code.co_filename != inspect.getfile(ThreadTeam):
            return None
        if "__del__" in (frame.f_code.co_name, frame.f_back.f_code.co_name):
            return None  # where Python drops it
        if event == "line":
            lines += 1
            if lines == step:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)
    return lines == step


def interrupted_teams(function) -> int:
    """Press Ctrl-C at every step of `function`, and return the number of steps."""
    for step in range(1, 10_000):
        if not interrupted_at(step, function):
            return step
    raise AssertionError("never ends")


def test_ctrl_c_at_any_step_of_calls_leaves_no_thread():
    before, begun, ended = threading.active_count(), [], []

    def visit(item):
        begun.append(item)
        time.sleep(0.0001)
        ended.append(item)

    def use_team():
        with ThreadTeam(3) as team:
            for _ in range(2):
                assert team.map(visit, range(5)) == [None] * 5

    assert interrupted_teams(use_team) > 20  # a use has more lines
    assert wait_until(lambda: threading.active_count() <= before)
    assert sorted(begun) == sorted(ended) and len(ended) > 50


@pytest.mark.skipif(INTERPRETED, reason="one thread interprets")
def test_ctrl_c_at_any_step_leaves_a_team_that_works():
    before = threading.active_count()
    visits, barrier = np.zeros(3), new_barrier()

    def use_team():
        with ThreadTeam(3) as team:
            for _ in range(2):
                try:
                    team.share(np.inf, visit_together, barrier, visits)
                except KeyboardInterrupt:
                    team.share(np.inf, visit_together, barrier, visits)
                in_each_thread(team, lambda thread: None)

    assert interrupted_teams(use_team) > 20
    assert wait_until(lambda: threading.active_count() <= before)
    assert visits[0] == visits[1] == visits[2] > 20


# --- forks --------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux forks safely")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_forked_inside_a_team_may_leave_it_and_start_its_own():
    with ThreadTeam(2) as team:
        in_each_thread(team, lambda thread: None)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                team.__exit__(None, None, None)
                with ThreadTeam(2) as own:
                    in_each_thread(own, lambda k: None)
                status = 0
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        in_each_thread(team, lambda k: None)
