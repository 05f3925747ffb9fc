"""Users who wait for the compiler hear it every few seconds, until all has ended."""

from __future__ import annotations

import os
import re
import threading
import time

import pytest

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker
from sklearn_ltr._core.compile import COMPILE_CLOCK, stage, task, waiting
from sklearn_ltr._core.estimators.monitor import Monitor
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.mart import MARTRegressor


@pytest.fixture
def teller(monkeypatch):
    """A teller that writes lines soon, and has told nothing yet."""
    teller = waiting.Teller()
    monkeypatch.setattr(waiting, "TELLER", teller)
    monkeypatch.setattr(waiting, "FIRST", 0.02)
    monkeypatch.setattr(waiting, "NEXT", 0.02)
    monkeypatch.setattr(waiting, "LOOK_AGAIN", 0.01)
    yield teller
    wait_for(lambda: teller._thread is None)


def wait_for(happened):
    end = time.monotonic() + 30
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_a_task_that_compiles_nothing_is_not_told(teller, caplog):
    with task("the fit of X"):
        stage("binning")
        time.sleep(0.1)
    assert caplog.messages == []
    assert teller._thread is None


def test_lines_come_until_the_task_has_ended(teller, caplog):
    with task("the fit of X"):
        stage("binning")
        with COMPILE_CLOCK.running():
            teller.begin("compiling trees.grow")
            wait_for(lambda: "compiling" in caplog.text)
        stage("tree 3 of 100")
        wait_for(lambda: caplog.text.count("tree 3 of 100") > 1)
    *lines, end = caplog.messages
    start = r"sklearn_ltr: the fit of X, \d+ s so far: "
    assert re.fullmatch(start + "compiling trees.grow", lines[0])
    assert re.fullmatch(start + "tree 3 of 100", lines[-1])
    expected = "sklearn_ltr: the fit of X has ended after .* s compiled kernels"
    assert re.fullmatch(expected, end)
    wait_for(lambda: teller._thread is None)
    n_lines = len(caplog.messages)
    time.sleep(0.1)
    assert len(caplog.messages) == n_lines


def test_the_outermost_task_is_told_and_what_the_innermost_is_at(teller, caplog):
    with task("the fit of BlendedRanker"), task("the fit of LambdaRankRanker"):
        teller.begin("compiling networks.forward")
        stage("epoch 2 of 5")
        wait_for(lambda: "epoch" in caplog.text)
    line = next(line for line in caplog.messages if "epoch" in line)
    assert line.startswith("sklearn_ltr: the fit of BlendedRanker, ")
    assert line.endswith(": the fit of LambdaRankRanker, epoch 2 of 5")
    assert caplog.messages[-1].startswith("sklearn_ltr: the fit of BlendedRanker has")


def test_where_kernels_are_kept_is_said_once(teller, caplog):
    teller.place = "here"
    for _ in range(2):
        with task("scoring 9 rows"):
            teller.begin("compiling a")
            n_lines = len(caplog.messages)
            wait_for(lambda: len(caplog.messages) > n_lines + 1)  # noqa: B023
    told = [line for line in caplog.messages if "later processes" in line]
    assert len(told) == 1
    assert "read them from here.  " in told[0]
    assert told[0].endswith(": python -m sklearn_ltr compile")


def test_what_is_compiled_without_a_task_is_told(teller, caplog):
    with COMPILE_CLOCK.running():
        teller.begin("compiling metrics.rank_documents")
        wait_for(lambda: caplog.messages)
    assert re.fullmatch(
        r"sklearn_ltr: kernels, \d+ s so far: compiling metrics.rank_documents",
        caplog.messages[0],
    )


def test_an_error_ends_a_task(teller):
    with pytest.raises(KeyboardInterrupt), task("the fit of X"):
        teller.begin("compiling a")
        raise KeyboardInterrupt
    assert teller.tasks == []
    assert teller.current.get() is None


def test_threads_have_tasks_of_their_own(teller):
    began, go_on = threading.Event(), threading.Event()

    def fit():
        with task("the fit of another"):
            began.set()
            assert go_on.wait(30)

    thread = threading.Thread(target=fit)
    with task("the fit of X"):
        thread.start()
        assert began.wait(30)
        stage("binning")
        assert [each.stage for each in teller.tasks] == ["binning", ""]
        go_on.set()
        thread.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is forked")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_a_forked_child_tells_of_what_it_compiles(teller, caplog):
    with task("the fit of X"):
        teller.begin("compiling a")
        wait_for(lambda: caplog.messages)
        child = os.fork()
        if child == 0:
            caplog.clear()
            teller.begin("compiling b")
            end = time.monotonic() + 20
            while not caplog.messages and time.monotonic() < end:
                time.sleep(0.01)
            os._exit(0 if caplog.messages else 1)
        assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize(
    ("estimator", "last"),
    [
        (LambdaMARTRanker(n_estimators=3), "tree 3 of 3"),
        (MARTRegressor(n_estimators=3), "tree 3 of 3"),
        (LambdaRankRanker(max_iter=3), "epoch 3 of 3"),
    ],
)
def test_a_fit_says_at_which_step_it_is(estimator, last, teller, monkeypatch):
    record, stages = Monitor.record, []

    def record_and_note(self, step):
        stops = record(self, step)
        (own,) = teller.tasks
        stages.append((own.name, own.stage))
        return stops

    monkeypatch.setattr(Monitor, "record", record_and_note)
    data = make_ranking(20, n_features=4, n_informative=2, random_state=0)
    given = {} if isinstance(estimator, MARTRegressor) else {"groups": data.groups}
    estimator.fit(data.data, data.target, **given)
    assert stages[-1] == (f"the fit of {type(estimator).__name__}", last)
    assert teller.tasks == []
