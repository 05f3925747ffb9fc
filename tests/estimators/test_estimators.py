"""What every estimator promises; the registry is that of `tests.bad_inputs`.

Files of single estimators test what is their own.
"""

from __future__ import annotations

import inspect
import io
import pickle
import re
import sys
import threading
import time
from contextlib import nullcontext
from copy import deepcopy

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator

from sklearn_ltr import (
    LambdaMARTRanker,
    LambdaRankRanker,
    MissingGroupsWarning,
    RankNetRanker,
)
from sklearn_ltr._core.compile import COMPILE_CLOCK, helper
from sklearn_ltr._core.data import COLUMNS
from sklearn_ltr._core.estimators.monitor import Monitor
from sklearn_ltr.calibration import CalibratedRanker
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.ensemble import BaggingRanker, BlendedRanker
from sklearn_ltr.mart import MARTClassifier, MARTRegressor
from sklearn_ltr.metrics import ERR, MAP, NDCG
from sklearn_ltr.model_selection import RankerSearch
from tests import ctrl_c_soon, files_named
from tests.bad_inputs import SMALL

RELEASE = tuple(map(int, sklearn.__version__.split(".")[:2]))
INF = float("inf")
MADE = make_ranking(20, n_documents=8, n_features=6, n_informative=3, random_state=0)
ORDER = np.random.default_rng(0).permutation(len(MADE.target))  # queries interleaved
X, Y, GROUPS = np.arctan(MADE.data[ORDER]), MADE.target[ORDER], MADE.groups[ORDER]
NETWORKS = (LambdaRankRanker, RankNetRanker)
OF_TREES = (LambdaMARTRanker, MARTClassifier, MARTRegressor)
SINGLE = (*NETWORKS, *OF_TREES)
ENSEMBLES = (BaggingRanker, BlendedRanker, CalibratedRanker, RankerSearch)
RANKERS = (*NETWORKS, LambdaMARTRanker, *ENSEMBLES)
every_estimator = pytest.mark.parametrize("estimator", SMALL)
every_single = pytest.mark.parametrize("estimator", SINGLE)
every_ranker = pytest.mark.parametrize("estimator", RANKERS)


def make(estimator, n_steps=3, **options):
    small = dict(SMALL[estimator])
    if estimator in SINGLE:
        small["max_iter" if estimator in NETWORKS else "n_estimators"] = n_steps
    return estimator(**small | options)


def given(model, rows=slice(None), val=False) -> dict:
    """What `fit` takes: some of the rows, and validation data, which are all rows."""
    data = {"X": X, "y": Y > 1 if isinstance(model, MARTClassifier) else Y}
    if isinstance(model, RANKERS):
        data["groups"] = GROUPS
    of_val = {f"{name}_val": values for name, values in data.items()} if val else {}
    return {name: values[rows] for name, values in data.items()} | of_val


def fit(model, columns=slice(None), **changes):
    """Fit to some of the columns, with some of the arguments replaced."""
    return model.fit(**given(model) | {"X": X[:, columns]} | changes)


def outputs(model):
    """The results of all methods of a fitted model that take X."""
    found = {"predict": model.predict(X)}
    for name in ("decision_function", "predict_proba"):
        if hasattr(model, name):
            found[name] = getattr(model, name)(X)
    for name in ("staged_predict", "staged_predict_proba"):
        if hasattr(model, name):
            found[name] = np.array(list(getattr(model, name)(X)))
    if hasattr(model, "predict_grade"):
        found["grades"] = model.predict_grade(X, groups=GROUPS)
        found["relevance"] = model.predict_relevance(X, groups=GROUPS)
    if hasattr(model, "predict_pair_proba"):
        found["pairs"] = model.predict_pair_proba(X[:-1], X[1:])
    if hasattr(model, "feature_importances_"):
        found["importances"] = model.feature_importances_
    if hasattr(model, "rank"):
        found["rank"] = model.rank(X, groups=GROUPS)
    return {name: np.asarray(values).tobytes() for name, values in found.items()}


def learned(model):
    """All that a fit has set, in a copy."""
    return {k: joblib.hash(v) for k, v in vars(model).items() if k.endswith("_")}


# --- a scikit-learn estimator -----------------------------------------------------

#: The checks pass no groups: all rows are one query, and a query has one weight.
WEIGHTS = dict.fromkeys(
    ["check_sample_weights_not_overwritten"]
    + [f"check_sample_weight_equivalence_on_{x}_data" for x in ("dense", "sparse")],
    "sample_weight weighs whole queries, and these checks weigh single documents",
)
COMPLEX = {"check_complex_data": "y is checked before X, and must not be complex"}
#: before 1.9 these checks merge three classes into two by the label of the first row,
#: which differs between the two fits that they compare
CLASSES = {
    f"check_sample_weight_equivalence_on_{kind}_data": "other classes for each fit"
    for kind in ("dense", "sparse")
    if RELEASE < (1, 9)
}
TREES, NETWORK = make(LambdaMARTRanker), make(RankNetRanker)
CHECKED = {
    "trees": (TREES, WEIGHTS),
    "lambdarank": (make(LambdaRankRanker), WEIGHTS),
    "ranknet": (NETWORK, WEIGHTS),
    "classifier": (make(MARTClassifier, 10, min_samples_leaf=20), CLASSES),
    "regressor": (make(MARTRegressor, 10, min_samples_leaf=20), {}),
    "bag": (make(BaggingRanker), WEIGHTS | COMPLEX),
    "blend": (
        BlendedRanker([Ridge(), Ridge(9)], cv=KFold(2), method="sweep"),
        WEIGHTS | COMPLEX,
    ),
    "calibrated": (CalibratedRanker(Ridge(), cv=KFold(2)), WEIGHTS | COMPLEX),
    "searched": (
        RankerSearch(
            Ridge(), param_distributions={"alpha": [9]}, time=None, n_iter=2,
            cv=KFold(2),
        ),
        WEIGHTS | COMPLEX,
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")  # missing groups; models that do not converge
@pytest.mark.parametrize("name", CHECKED)
def test_the_checks_of_scikit_learn_pass(name):
    model, expected = CHECKED[name]
    results = check_estimator(model, expected_failed_checks=expected, on_skip=None)
    by_status = {}
    for result in results:
        by_status.setdefault(result["status"], set()).add(result["check_name"])
    # array API checks need a variable of the environment
    assert by_status.pop("skipped", set()) <= {"check_array_api_input"}
    assert by_status.pop("xfail", set()) == set(expected)
    assert len(by_status.pop("passed")) > 40  # scikit-learn has not fewer
    assert not by_status


def test_only_the_metric_may_be_given_by_position():
    for ranker in (LambdaMARTRanker, LambdaRankRanker):
        assert ranker("map").metric == "map"
        with pytest.raises(TypeError, match="metric by position"):
            ranker("map", 2.0)
    with pytest.raises(TypeError, match="nothing by position"):
        RankNetRanker("map")


@every_estimator
def test_tags(estimator):
    tags = get_tags(make(estimator))
    kind = {MARTClassifier: "classifier", MARTRegressor: "regressor"}
    assert tags.estimator_type == kind.get(estimator, "ranker")
    assert tags.input_tags.allow_nan == (estimator not in (*NETWORKS, BlendedRanker))
    assert tags.target_tags.required


@every_ranker
def test_metadata_requested_by_default(estimator):
    """Every column that a method takes, as its declaration says; not pairs."""
    unrequested = {name for name, c in COLUMNS.items() if not c.is_requested}
    unrequested |= {"pairs", "pair_probabilities", "pair_weights"}
    requests = make(estimator).get_metadata_routing()
    for method in ("fit", "score", "predict"):
        taken = inspect.signature(getattr(estimator, method)).parameters
        expected = {
            name: None if name in unrequested else True
            for name in taken
            if name not in ("self", "X", "y")
        }
        assert getattr(requests, method).requests == expected
    taken = inspect.signature(estimator.fit).parameters
    assert {"groups", "sample_weight"} < {*taken}
    needed = {name for name, column in COLUMNS.items() if column.in_predict}
    if estimator is LambdaMARTRanker:
        assert needed < {*inspect.signature(estimator.predict).parameters}
        assert {*COLUMNS} < {*taken}
    else:
        assert {*COLUMNS} - {*taken} <= needed
    if estimator in NETWORKS:
        taken = inspect.signature(estimator.partial_fit).parameters
        for name in ({"groups", *COLUMNS} & {*taken}) - unrequested:
            assert requests.partial_fit.requests[name] is True
        assert {*requests.partial_fit.requests} <= {*taken}


@every_estimator
def test_copies_return_the_same_and_continue_the_same(estimator):
    model = fit(make(estimator))
    held = io.BytesIO()
    joblib.dump(model, held)
    held.seek(0)
    copies = [pickle.loads(pickle.dumps(model)), joblib.load(held), deepcopy(model)]
    before = outputs(model)
    more = {}
    if estimator in SINGLE:
        more = {"warm_start": True, "max_iter": 6, "n_estimators": 6}
        more = {k: v for k, v in more.items() if k in model.get_params()}
    after = outputs(fit(model.set_params(**more)))
    for copy in copies:
        assert outputs(copy) == before
        assert outputs(fit(copy.set_params(**more))) == after
    if estimator in NETWORKS:  # from the state of the optimizer, too
        copies = [pickle.loads(pickle.dumps(model)), model]
        one, other = (outputs(m.partial_fit(**given(m))) for m in copies)
        assert one == other != after


@pytest.mark.filterwarnings("ignore:The groups parameter is ignored by KFold")
@every_ranker
def test_missing_groups_warn_at_the_line_of_the_call(estimator):
    model = make(estimator)
    if estimator in (BlendedRanker, CalibratedRanker, RankerSearch):
        model.set_params(cv=KFold(2))
    whole = {"X": X, "y": Y}
    calls = {"enable_metadata_routing|groups": lambda: model.fit(**whole)}
    calls["groups"] = lambda: model.score(**whole)
    if estimator in SINGLE:
        calls["groups_val"] = lambda: clone(model).fit(
            **whole, groups=GROUPS, X_val=X, y_val=Y
        )
    if estimator in NETWORKS:
        calls["groups was"] = lambda: clone(model).partial_fit(**whole)
    for message, call in calls.items():
        with pytest.warns(MissingGroupsWarning, match=message) as caught:
            call()
        caught = [w for w in caught if w.category is MissingGroupsWarning]
        assert files_named(caught, __file__) == [__file__]
    if estimator in SINGLE:
        one_query = fit(make(estimator), groups=np.zeros(len(Y)))
        assert outputs(model) == outputs(one_query)


# --- what must not matter, and what must ------------------------------------------


@every_estimator
def test_no_argument_is_changed_and_a_weight_of_1_is_the_default(estimator):
    model = make(estimator)
    data = {name: values.copy() for name, values in given(model).items()}
    data["sample_weight"] = np.ones(len(Y))
    for values in data.values():
        values.flags.writeable = False
    assert outputs(clone(model).fit(**data)) == outputs(fit(model))
    if estimator in NETWORKS:
        model.partial_fit(**data | {"X": data["X"].astype(np.float32)})
    model.score(**data)
    if estimator in RANKERS:
        model.rank(data["X"], groups=data["groups"])
    np.testing.assert_array_equal(data["X"], X)


DRAWN = {"early_stopping": True, "validation_fraction": 0.3}


@pytest.mark.parametrize("estimator", [*SINGLE, BaggingRanker])
def test_random_state_decides_all_that_is_drawn(estimator):
    def results(random_state, **options):
        model = fit(make(estimator, random_state=random_state, **options))
        curve = getattr(model, "validation_score_", ())
        return [*outputs(model).items(), *curve]

    options = {"bootstrap": True}
    if estimator in SINGLE:
        options = DRAWN if estimator in NETWORKS else DRAWN | {"subsample": 0.7}
    expected = results(3, **options)
    np.random.seed(0)  # noqa: NPY002
    assert results(3, **options) == expected
    assert results(np.random.RandomState(3), **options) == expected
    assert results(4, **options) != expected
    assert results(None, **options) != results(None, **options)


@every_estimator
def test_names_of_columns_are_kept_and_checked(estimator):
    names = list("abcdef")
    frame = pd.DataFrame(X, columns=names)
    model = fit(make(estimator), X=frame)
    assert model.feature_names_in_.tolist() == names
    assert model.n_features_in_ == 6
    plain = fit(make(estimator))
    # a Ridge sums the columns of a frame in another order
    np.testing.assert_allclose(model.predict(frame), plain.predict(X), rtol=1e-12)
    if estimator in SINGLE:
        with pytest.raises(ValueError, match="feature names"):
            model.predict(frame[names[::-1]])
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            model.predict(X)
    assert not hasattr(fit(model, slice(4)), "feature_names_in_")
    assert model.n_features_in_ == 4


@every_ranker
def test_ranks_and_scores_are_those_of_the_predicted_scores(estimator):
    model = fit(make(estimator))
    scores, ranks = model.predict(X), model.rank(X, groups=GROUPS)
    assert ranks.dtype == np.int64
    for query in np.unique(GROUPS):
        rows = np.flatnonzero(GROUPS == query)
        best_first = sorted(rows, key=lambda row: (-scores[row], row))
        assert [ranks[row] for row in best_first] == list(range(1, len(rows) + 1))
    best_first = np.lexsort([np.arange(len(scores)), -scores])
    assert model.rank(X)[best_first].tolist() == list(range(1, len(scores) + 1))
    weight = 1.0 + GROUPS % 4
    for metric, measure in ((None, NDCG(10)), ("map@3", MAP(3)), (ERR(), ERR())):
        if metric is not None:
            if estimator is RankNetRanker:
                continue
            model = fit(make(estimator, metric=metric))
        expected = measure(Y, model.predict(X), groups=GROUPS, sample_weight=weight)
        found = model.score(X, Y, groups=GROUPS, sample_weight=weight)
        assert found == expected
        assert isinstance(found, float)


# --- stages, validation data ------------------------------------------------------


def curve(model):
    """What a fit has recorded of the training data."""
    names = ("loss_curve_", "train_score_")
    return next(getattr(model, name) for name in names if hasattr(model, name))


@pytest.mark.parametrize("estimator", OF_TREES)
def test_stages_and_warm_starts_are_the_models_of_fewer_and_more_trees(estimator):
    name = "predict_proba" if estimator is MARTClassifier else "predict"
    short = {n: fit(make(estimator, n)) for n in (1, 2, 3)}
    stages = list(getattr(short[3], f"staged_{name}")(X))
    assert len(stages) == short[3].n_iter_ == 3
    for found, model in zip(stages, short.values(), strict=True):
        np.testing.assert_array_equal(found, getattr(model, name)(X))
    model = fit(make(estimator, 1, warm_start=True)).set_params(n_estimators=3)
    assert outputs(fit(model)) == outputs(short[3])
    assert outputs(fit(model)) == outputs(short[3])  # no more trees


@every_single
def test_validation_data_or_held_out_rows_stop_a_fit_if_early_stopping_says_so(
    estimator,
):
    n = 3 if estimator in NETWORKS else 4  # of trees also the score before any
    plain = fit(make(estimator))
    for stopping, n_held_out, n_validated in (
        ("auto", 0, n), (True, n, n), (np.True_, n, n), (False, 0, 0), (0, 0, 0),
    ):  # fmt: skip
        held_out, validated = (
            make(estimator, early_stopping=stopping).fit(**given(plain, val=val))
            for val in (False, True)
        )
        assert len(held_out.validation_score_) == n_held_out
        assert len(validated.validation_score_) == n_validated
        assert curve(validated).dtype == validated.validation_score_.dtype == float
        if not n_validated:
            assert outputs(validated) == outputs(plain)


@every_single
def test_a_score_must_be_better_by_tol_to_count(estimator):
    rate = "learning_rate_init" if estimator in NETWORKS else "learning_rate"
    rate = {rate: 0.02 if estimator in NETWORKS else 0.3}

    def stopped(tol, patience):
        model = make(estimator, 60, n_iter_no_change=patience, tol=tol, **rate)
        return model.fit(**given(model, val=True))

    assert len(stopped(100.0, 4).validation_score_) == 5
    model = stopped(0.02, 3)
    best = 0
    for n, score in enumerate(model.validation_score_):
        if score > model.validation_score_[best] + 0.02:
            best = n
    assert len(model.validation_score_) == best + 3 + 1 < 60
    if estimator in NETWORKS:  # the weights of the best epoch are kept
        shorter = fit(make(estimator, best + 1, **rate))
        np.testing.assert_array_equal(model.predict(X), shorter.predict(X))
    else:
        assert model.n_iter_ == max(1, best)


def lines_of(model, capsys, **arguments):
    model.fit(**given(model, **arguments))
    return capsys.readouterr().out.splitlines()


@every_single
def test_verbose_2_prints_where_the_fit_is_after_each_step(estimator, capsys):
    model = make(estimator, 5, verbose=2)
    kind, first = ("epoch", 1) if estimator in NETWORKS else ("tree", 0)
    lines = lines_of(model, capsys, val=True)
    for number, line in enumerate(lines[:-1]):
        assert line.startswith(f"{kind} {first + number} of 5: train ")
        for value in (curve(model)[number], model.validation_score_[number]):
            assert f" {value:.4f}" in line
        best = int(np.argmax(model.validation_score_[: number + 1]))
        value = model.validation_score_[best]
        # `tol` may have an earlier value count as the best
        assert f"(best {value:.4f} at {first + best})" in line or model.tol > 0
        assert line.endswith(f" s per {kind}") or first + number == 0
    assert len(lines) == 6 + (first == 0)
    if estimator in OF_TREES:  # those that a warm start keeps are counted
        model.set_params(warm_start=True, n_estimators=6)
        lines = lines_of(model, capsys, val=True)
        assert [line[:10] for line in lines[:2]] == ["tree 5 of ", "tree 6 of "]
    for nothing in (0, False):
        assert lines_of(make(estimator, verbose=nothing), capsys, val=True) == []
    assert len(lines_of(make(estimator, 3, verbose=True), capsys)) == 1


@every_single
def test_verbose_1_prints_every_few_seconds_and_the_end(estimator, capsys, monkeypatch):
    kind, first = ("epoch", 1) if estimator in NETWORKS else ("tree", 0)
    (line,) = lines_of(make(estimator, 5, verbose=1), capsys)
    assert line.startswith(f"{kind} 5 of 5: train ")
    rate = {"learning_rate_init": 0.05} if estimator in NETWORKS else {}
    model = make(estimator, 60, verbose=1, n_iter_no_change=3, tol=0.02, **rate)
    (line,) = lines_of(model, capsys, val=True)
    n, best = len(model.validation_score_) - 1 + first, model.n_iter_
    if estimator in NETWORKS:
        scores, best = model.validation_score_, 0
        for step, score in enumerate(scores):
            best = step if score > scores[best] + 0.02 else best
        best += 1
    value = model.validation_score_[best - first]
    assert line.startswith(f"stopped at {kind} {n} of 60, best {best}: validation ")
    assert f" {value:.4f}, " in line and re.search(r"\d s with \d threads?$", line)

    # steps of 2 seconds
    clock = iter(range(0, 10**6, 2))
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(clock)))
    *lines, end = lines_of(make(estimator, 12, verbose=1), capsys)
    assert end.startswith(f"{kind} 12 of 12: train ")
    assert 2 <= len(lines) <= 6
    assert all(line.endswith(f" s per {kind}") for line in lines)


@every_single
def test_rates_are_without_the_time_of_compiling(estimator, capsys, monkeypatch):
    record = Monitor.record

    def compile_and_record(self, step):
        with COMPILE_CLOCK.running():
            time.sleep(0.3)
        return record(self, step)

    monkeypatch.setattr(Monitor, "record", compile_and_record)
    *lines, end = lines_of(make(estimator, 4, verbose=2), capsys)
    rates = [re.search(r", ([^ ]+) s per", line)[1] for line in lines[1:]]
    assert min(map(float, rates)) < 0.2
    assert re.search(
        r", [1-9][^ ]* s with .+, of which [1-9][^ ]* s compiled kernels$", end
    )


@every_single
def test_after_a_step_that_compiles_nothing_no_other_process_compiles(
    estimator, monkeypatch
):
    record, ended, steps = Monitor.record, [], []

    def compile_and_record(self, step):
        with COMPILE_CLOCK.running() if step < 4 else nullcontext():
            time.sleep(0.01)
        steps.append(step)
        return record(self, step)

    monkeypatch.setattr(Monitor, "record", compile_and_record)
    monkeypatch.setattr(helper, "end", lambda: ended.append(steps[-1]))
    model = make(estimator, 5)
    model.fit(**given(model))
    assert ended == [4, 5, 5]  # the last one with the fit


# --- a fit that fails or is interrupted -------------------------------------------


def interrupted(*args, **kwargs):
    raise KeyboardInterrupt


BAD = {
    "X": [np.where(X == X[3, 1], INF, X)],
    "y": [None, np.ones(len(Y))],
    "sample_weight": [np.arange(len(Y)) - 2.0, np.arange(len(Y))],
    "groups": [GROUPS[:-1]],
    "X_val": [X[:, :1]],
}


@every_estimator
@pytest.mark.parametrize("before", ["new", "warm"])
def test_a_failed_fit_leaves_the_estimator_unchanged(estimator, before, monkeypatch):
    model = make(estimator)
    if estimator in SINGLE:
        model.set_params(verbose=2, warm_start=before == "warm")
    monkeypatch.setattr("builtins.print", lambda *a, **k: None)
    if before != "new":
        fit(model)
        if estimator in OF_TREES:
            model.set_params(n_estimators=5)
    kept = vars(model).copy()
    state, results = learned(model), None if before == "new" else outputs(model)

    def unchanged():
        assert vars(model).keys() == kept.keys()
        assert all(vars(model)[name] is value for name, value in kept.items())
        assert learned(model) == state
        assert results is None or outputs(model) == results

    for method in (model.fit, *([model.partial_fit] if estimator in NETWORKS else [])):
        for name in BAD.keys() & inspect.signature(method).parameters.keys():
            # what does not matter: equal targets of a regressor or of a fit that
            # continues, and weights that differ within a query without queries
            is_fine = name == "y" and (
                estimator is MARTRegressor or method != model.fit
                or (estimator is MARTClassifier and before == "warm")
            ) or name == "sample_weight" and estimator not in RANKERS  # fmt: skip
            for bad in BAD[name][: 1 if is_fine else 2]:
                with pytest.raises(ValueError):
                    method(**given(model, val=name == "X_val") | {name: bad})
                unchanged()
    if estimator in SINGLE:
        monkeypatch.setattr("builtins.print", interrupted)
        with pytest.raises(KeyboardInterrupt):
            fit(model)
        unchanged()
        monkeypatch.setattr("builtins.print", lambda *a, **k: None)
        again = outputs(fit(model))  # and can be repeated
        if before == "new":
            assert again == outputs(fit(make(estimator)))


@pytest.mark.skipif(sys.platform == "win32", reason="no signal to send")
@every_single
def test_ctrl_c_ends_a_fit_and_leaves_the_estimator_unchanged(estimator):
    model = fit(make(estimator, n_jobs=2, warm_start=True))
    if estimator in NETWORKS:
        model.set_params(max_iter=10**7, tol=0.0, n_iter_no_change=10**7)
    else:
        model.set_params(n_estimators=10**7)
    kept, results = learned(model), outputs(model)
    with pytest.raises(KeyboardInterrupt), ctrl_c_soon():
        fit(model)
    assert learned(model) == kept
    assert outputs(model) == results


# --- a model is one thing: neither parameters nor a fit under way change it -------
@every_single
def test_no_parameter_changes_what_a_fitted_model_returns(estimator):
    model = fit(make(estimator))
    before = outputs(model)
    numbers = {"sigma": 5.0, "learning_rate": 0.9, "n_estimators": 1}
    for name in model.get_params(deep=False):
        if name != "n_jobs":
            model.set_params(**{name: numbers.get(name)})
            assert outputs(model) == before, name


def test_probabilities_are_those_of_the_sigma_of_the_last_fit():
    model = fit(make(MARTClassifier, sigma=2.0)).set_params(sigma=5.0)
    expected = 1 / (1 + np.exp(-2 * 2.0 * model.decision_function(X)))
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected, rtol=1e-12)
    ranker = fit(make(RankNetRanker, sigma=2.0, warm_start=True))
    for sigma, method in ((2.0, None), (3.0, "fit"), (4.0, "partial_fit")):
        if method is not None:  # which continues with another sigma
            getattr(ranker.set_params(sigma=sigma), method)(X, Y, groups=GROUPS)
        scores = ranker.set_params(sigma=5.0).predict(X)
        expected = 1 / (1 + np.exp(-sigma * (scores[:-1] - scores[1:])))
        found = ranker.predict_pair_proba(X[:-1], X[1:])
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@every_single
@pytest.mark.parametrize("method", ["fit", "warm start", "partial_fit"])
def test_during_a_fit_the_old_model_predicts(estimator, method, monkeypatch):
    if method == "partial_fit" and estimator not in NETWORKS:
        return
    model = make(estimator, verbose=2, warm_start=method == "warm start")
    seen, raised = [], []

    def learn(look, learning):
        with monkeypatch.context() as patch:
            patch.setattr("builtins.print", lambda *a, **k: look())
            learning(**given(model))

    def not_fitted():
        with pytest.raises(NotFittedError) as error:
            model.predict(X)
        raised.append(error)

    learn(not_fitted, model.fit)
    before = outputs(model)
    more = {"max_iter": 6} if estimator in NETWORKS else {"n_estimators": 6}
    learning = model.partial_fit if method == "partial_fit" else model.fit
    model.set_params(**more)
    learn(lambda: seen.append(outputs(model)), learning)
    assert len(raised) >= 3
    assert len(seen) >= (1 if method == "partial_fit" else 3)
    assert all(found == before for found in seen)
    assert outputs(model) != before


@pytest.mark.parametrize("estimator", [LambdaMARTRanker, RankNetRanker])
def test_a_prediction_in_another_thread_is_by_the_old_or_the_new_model(estimator):
    """They have different columns, so that parts of both would not fit together."""
    model, parts = make(estimator), (slice(0, 6), slice(0, 3))
    expected = [fit(make(estimator), p).predict(X[:, p]) for p in parts]
    fit(model, parts[0])
    found, ended = [], threading.Event()

    def predict():
        while not ended.wait(0.001):  # so that the fits get on, too
            for number, part in enumerate(parts):
                try:
                    found.append((number, model.predict(X[:, part])))
                except ValueError as error:  # the model has the other columns now
                    assert "features" in str(error)

    thread = threading.Thread(target=predict)
    thread.start()
    for number in range(8):
        fit(model, parts[number % 2])
    ended.set()
    thread.join()
    assert {number for number, _ in found} == {0, 1}
    for number, scores in found:
        np.testing.assert_array_equal(scores, expected[number])


@every_single
def test_parameters_set_during_a_fit_are_kept(estimator, monkeypatch):
    model = make(estimator, verbose=2)
    with monkeypatch.context() as patch:
        patch.setattr(
            "builtins.print", lambda *a, **k: model.set_params(random_state=7)
        )
        fit(model)
    assert model.random_state == 7
    same = make(estimator)
    assert fit(same).predict(X).tobytes() == model.predict(X).tobytes()
