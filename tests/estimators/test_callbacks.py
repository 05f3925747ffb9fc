"""scikit-learn's callbacks see every step of a fit, and may end it."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.ensemble import BaggingRanker
from sklearn_ltr.mart import MARTClassifier, MARTRegressor

pytest.importorskip("sklearn.callback", reason="since scikit-learn 1.9")

DATA = make_ranking(n_queries=20, random_state=0)
TREES = {"n_estimators": 6, "min_samples_leaf": 5}
NETWORK = {"max_iter": 6, "hidden_layer_sizes": (4,)}
ESTIMATORS = {
    LambdaMARTRanker: TREES, MARTClassifier: TREES, MARTRegressor: TREES,
    LambdaRankRanker: NETWORK, RankNetRanker: NETWORK,
}  # fmt: skip
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS)
trees_and_network = pytest.mark.parametrize(
    "estimator", [LambdaMARTRanker, MARTRegressor, RankNetRanker]
)


class Recorder:
    """Records every call, and ends the fit after some steps."""

    def __init__(self, stop_after: int = 99) -> None:
        self.stop_after = stop_after
        self.events, self.scores, self.given = [], [], None

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.events.append(f"begin {context.task_name}")

    def on_fit_task_end(
        self,
        estimator,
        context,
        *,
        X=None,
        y=None,
        metadata=None,
        fitted_estimator=None,
    ):
        self.events.append(f"end {context.task_name}")
        self.given = X, y, metadata
        self.scores.append(fitted_estimator.predict(X).copy())
        return sum(event in ("end tree", "end epoch") for event in self.events) >= (
            self.stop_after
        )


def given(estimator, y=DATA.target):
    y = y > 1 if estimator is MARTClassifier else y
    groups = {} if estimator.__name__[:4] == "MART" else {"groups": DATA.groups}
    return {"X": DATA.data, "y": y} | groups


def fitted(estimator, recorder, **options):
    model = estimator(random_state=0, **ESTIMATORS[estimator] | options)
    return model.set_callbacks(recorder).fit(**given(estimator))


def test_a_callback_of_members_of_a_bag_is_given_the_rows_of_a_member():
    seen = []

    class Scoring(Recorder):
        def on_fit_task_end(self, estimator, context, *, X, fitted_estimator, **_):
            seen.append((X.shape, len(fitted_estimator.predict(X))))

    ranker = LambdaMARTRanker(**TREES).set_callbacks(Scoring())
    bag = BaggingRanker(ranker, 2, max_samples=0.5, random_state=0)
    bag.fit(**given(LambdaMARTRanker))
    sizes, n_features = np.bincount(DATA.groups), DATA.data.shape[1]
    n_rows = [sizes[queries].sum() for queries in bag.estimators_queries_]
    assert seen == [((n, n_features), n) for n in n_rows for _ in range(7)]


@every_estimator
def test_the_begin_and_end_of_each_step_are_reported(estimator):
    recorder = Recorder()
    model = fitted(estimator, recorder)
    step = "tree" if ESTIMATORS[estimator] is TREES else "epoch"
    assert recorder.events == [
        "setup", "begin fit", *[f"begin {step}", f"end {step}"] * 6, "end fit",
        "teardown",
    ]  # fmt: skip
    X, y, metadata = recorder.given
    assert X is DATA.data
    assert y is DATA.target or estimator is MARTClassifier
    if "groups" in given(estimator):
        assert set(metadata) == {"groups"}
        assert metadata["groups"] is DATA.groups
    assert recorder.scores[-1].tolist() == model.predict(DATA.data).tolist()


@trees_and_network
def test_the_model_so_far_is_that_of_a_shorter_fit(estimator):
    recorder = Recorder()
    fitted(estimator, recorder)
    n_steps = "n_estimators" if ESTIMATORS[estimator] is TREES else "max_iter"
    short = estimator(random_state=0, **ESTIMATORS[estimator] | {n_steps: 2})
    short.fit(**given(estimator))
    assert recorder.scores[1].tolist() == short.predict(DATA.data).tolist()


@trees_and_network
def test_a_callback_may_end_a_fit(estimator):
    recorder = Recorder(stop_after=3)
    model = fitted(estimator, recorder)
    assert model.n_iter_ == 3
    assert recorder.events[-2:] == ["end fit", "teardown"]
    assert len(recorder.scores) == 3 + 1  # after each tree or epoch, and the fit


@trees_and_network
def test_callbacks_are_torn_down_and_no_attribute_is_set_after_a_failure(estimator):
    recorder = Recorder()
    model = estimator(**ESTIMATORS[estimator]).set_callbacks(recorder)
    with pytest.raises(ValueError, match="y must "):
        model.fit(**given(estimator, np.nan * DATA.target))
    assert recorder.events[0] == "setup"
    assert recorder.events[-1] == "teardown"
    assert not [name for name in vars(model) if name.endswith("_")]

    class Interrupting(Recorder):
        def on_fit_task_begin(self, estimator, context):
            super().on_fit_task_begin(estimator, context)
            if len(self.events) > 6:
                raise KeyboardInterrupt

    recorder = Interrupting()
    with pytest.raises(KeyboardInterrupt):
        fitted(estimator, recorder)
    assert recorder.events[-1] == "teardown"


@trees_and_network
def test_the_scoring_monitor_of_scikit_learn_records_ndcg(estimator):
    from sklearn.callback import ScoringMonitor

    def score(model, X, y, **groups):
        return {"ndcg": model.score(X, y, **groups)}

    monitor = ScoringMonitor(scoring=score)
    model = fitted(estimator, monitor)
    log = monitor.get_logs().data
    values = [entry["ndcg"] for entry in log]
    assert len(values) == 6 + 1  # after each tree or epoch, and the fit
    assert values[-1] == model.score(**given(estimator))
    assert np.ptp(values) > 0


FIT_IN_A_TERMINAL = """
from sklearn.callback import ProgressBar
from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.datasets import make_ranking

data = make_ranking(n_queries=20, random_state=0)
model = LambdaMARTRanker(n_estimators=10**6)
model.set_callbacks(ProgressBar())
try:
    model.fit(data.data, data.target, groups=data.groups)
except KeyboardInterrupt:
    print([name for name in vars(model) if name.endswith("_")])
"""


@pytest.mark.slow
def test_ctrl_c_under_a_progress_bar_restores_the_terminal():
    pytest.importorskip("rich")
    pty = pytest.importorskip("pty", reason="needs a POSIX terminal")
    ours, theirs = pty.openpty()
    fit = subprocess.Popen(
        [sys.executable, "-c", FIT_IN_A_TERMINAL],
        stdin=theirs, stdout=theirs, stderr=theirs,
        env=os.environ | {"TERM": "xterm"},
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    pressed = -math.inf
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # raised by Linux at the end of the output
            part = b""
        if not part:
            break
        shown += part
        # repeated, because Python may drop the signal: see tests.ctrl_c_soon
        if b"Ranker - fit" in shown and time.monotonic() > pressed + 5.0:
            fit.send_signal(signal.SIGINT)
            pressed = time.monotonic()
    os.close(ours)
    assert fit.wait() == 0
    assert pressed > 0
    assert shown.endswith(b"[]\r\n")  # no fitted attribute, printed last
    hidden, visible = shown.rfind(b"\x1b[?25l"), shown.rfind(b"\x1b[?25h")
    assert 0 <= hidden < visible  # the cursor is shown again
