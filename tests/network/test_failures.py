"""What cannot be learned from is told by name, and leaves everything as it was."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_ltr import (
    LambdaRankRanker,
    RankNetRanker,
    UnscaledFeaturesWarning,
)
from sklearn_ltr.metrics import NDCG, Metric
from tests import ctrl_c_soon
from tests.network import (
    DATA,
    FULL_BATCH,
    VALIDATION,
    Linear,
    Lists,
    both_rankers,
    curve,
    fitted,
    large,
    model,
    of_val,
    small,
    toy,
    validated,
)

NAN, INF = float("nan"), float("inf")


# --- divergence, and what is unscaled ---------------------------------------------


def told_of(call) -> str:
    """What an error or the warnings say, if either comes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            call()
        except ValueError as error:
            return str(error)
    return " ".join(str(warning.message) for warning in caught)


@both_rankers
@pytest.mark.parametrize("solver", ["adam", "sgd"])
@pytest.mark.parametrize("activation", ["relu", "tanh", "logistic", "identity"])
@pytest.mark.parametrize("batch_size", [1, FULL_BATCH])
@pytest.mark.parametrize("rate", [1e6, 1e30, 1e38, 1e39, 1e300])
def test_a_learning_rate_too_high_is_told_of(
    ranker, rate, batch_size, activation, solver
):
    for max_iter in (1, 15):
        one = small(
            ranker, learning_rate_init=rate, batch_size=batch_size, solver=solver,
            activation=activation, max_iter=max_iter,
        )  # fmt: skip
        said = told_of(lambda one=one: one.fit(*DATA, groups=DATA.groups))
        if hasattr(one, "network_"):
            assert np.isfinite(one.predict(DATA.X)).all()
            if max_iter == 1 and np.abs(one.predict(DATA.X)).max() < 2**24:
                continue  # one step, as asked for, and scores that are still scores
        assert "learning_rate_init" in said
        assert "scale" in said.lower()
        assert "cast" not in said


# kernels that run as plain Python warn of what compiled ones do in silence
@pytest.mark.filterwarnings("ignore:.*in scalar:RuntimeWarning")
@both_rankers
@pytest.mark.parametrize("validation", [False, True])
@pytest.mark.parametrize("size", [1e20, 1e30, 1e37])
def test_huge_features_are_told_of(ranker, size, validation):
    fit = validated if validation else fitted
    data = Lists(DATA.X * size, DATA.y, DATA.groups)
    with (
        pytest.warns(UnscaledFeaturesWarning, match=r"column \d .*StandardScaler"),
        pytest.raises(ValueError, match=r"diverged.*StandardScaler"),
    ):
        fit(ranker, data)


@both_rankers
def test_features_beyond_single_precision_are_told_of(ranker):
    X = DATA.X.copy()
    X[3, 2] = 1e39
    with pytest.raises(ValueError, match=r"\bX\b.*single precision.*row 3, column 2"):
        fitted(ranker, Lists(X, DATA.y, DATA.groups))
    one = fitted(ranker)
    with pytest.raises(ValueError, match=r"\bX\b.*row 3, column 2"):
        one.predict(X)


@both_rankers
def test_scores_of_features_never_seen_before_are_finite_or_an_error(ranker):
    one = fitted(ranker, max_iter=20)
    for size in (1e10, 1e30, 3e38):
        try:
            scores = one.predict(size * np.clip(DATA.X, -1, 1))
        except ValueError as error:
            assert "finite" in str(error)
        else:
            assert np.isfinite(scores).all()


@both_rankers
def test_a_divergence_leaves_everything_as_it_was(ranker):
    one = fitted(ranker, warm_start=True)
    kept = state(one)
    one.set_params(solver="sgd", learning_rate_init=1e30, max_iter=20)
    with pytest.raises(ValueError, match="diverged"):
        one.fit(*DATA, groups=DATA.groups)
    one.set_params(**kept["params"])
    assert_unchanged(one, kept)
    one.fit(*DATA, groups=DATA.groups)
    assert one.n_iter_ == 8


@both_rankers
def test_divergence_on_the_validation_part_alone_is_told_of(ranker):
    val = Lists(VALIDATION.X * 1e38, VALIDATION.y, VALIDATION.groups)
    with pytest.raises(ValueError, match="finite"):
        validated(ranker, DATA, val, learning_rate_init=1.0)


@both_rankers
def test_unscaled_columns_are_warned_of_where_fit_is_called(ranker):
    X = DATA.X.copy()
    X[:, 2] += 1000.0
    with pytest.warns(
        UnscaledFeaturesWarning, match=r"column 2 .*1e\+03.*StandardScaler"
    ) as caught:
        fitted_here = small(ranker, max_iter=1)
        fitted_here.fit(X, DATA.y, groups=DATA.groups)
    assert [w.filename for w in caught] == [__file__]
    # once: going on is no news
    fitted_here.partial_fit(X, DATA.y, groups=DATA.groups)
    with pytest.warns(UnscaledFeaturesWarning) as caught:
        small(ranker).partial_fit(X, DATA.y, groups=DATA.groups)
    assert [w.filename for w in caught] == [__file__]


@both_rankers
def test_a_scaler_is_all_it_takes(ranker):
    X = DATA.X * [1e-6, 1.0, 1e4, 1e9] + [0.0, 1e3, 0.0, 1e12]
    pipeline = make_pipeline(StandardScaler(), small(ranker, max_iter=15))
    step = pipeline.steps[-1][0]
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline.fit(X, DATA.y, groups=DATA.groups)  # a warning would be an error
    scores = pipeline.predict(X)
    assert NDCG(10)(DATA.y, scores, groups=DATA.groups) > 0.9
    assert pipeline[step].n_iter_ == 15


# --- failures ---------------------------------------------------------------------


def state(one) -> dict:
    """Everything a ranker holds, in copies."""
    kept = {"params": dict(one.get_params()), "names": set(vars(one))}
    if hasattr(one, "network_"):
        kept |= {
            "model": model(one),
            "curve": list(curve(one)),
            "validation": list(one.validation_scores_),
            "n_iter": one.n_iter_,
            "features": one.n_features_in_,
            "scores": one.predict(VALIDATION.X).tobytes(),
        }
    return kept


def assert_unchanged(one, kept) -> None:
    assert state(one) == kept


def interrupted(*args, **kwargs):
    raise KeyboardInterrupt


class Interrupting(Linear):
    """Ctrl-C in the middle of the third update."""

    n_left = 5

    def backward(self, score_gradient):
        type(self).n_left -= 1
        if type(self).n_left == 0:
            raise KeyboardInterrupt
        return super().backward(score_gradient)


class InterruptingMetric(Metric):
    n_left = 10

    def value(self, ranked_grades):
        type(self).n_left -= 1
        if type(self).n_left == 0:
            raise KeyboardInterrupt
        return 1.0 / len(ranked_grades) + float(ranked_grades[0])


@both_rankers
@pytest.mark.parametrize("before", ["new", "fitted", "warm"])
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_a_failed_fit_leaves_everything_as_it_was(ranker, before, method):
    one = small(ranker)
    if before != "new":
        one = validated(ranker, warm_start=before == "warm")
    kept = state(one)
    call = getattr(one, method)
    X, y, groups = DATA.X, DATA.y, DATA.groups
    bad_X = X.copy()
    bad_X[3, 1] = INF
    bad = [
        {"X": bad_X, "y": y, "groups": groups},
        {"X": X[:, :2], "y": y[:-1], "groups": groups},
        {"X": X, "y": y, "groups": groups[:-1]},
        {"X": X, "y": y, "groups": groups, "sample_weight": np.arange(len(y))},
        {"X": pd.DataFrame(X).assign(b="text"), "y": y, "groups": groups},
    ]
    if method == "fit":
        bad += [
            {"X": X, "y": np.ones(len(y)), "groups": groups},
            {"X": X, "y": y, "groups": groups, "X_val": X[:, :1], "y_val": y},
        ]
    for arguments in bad:
        with pytest.raises(ValueError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call(**arguments)
        assert_unchanged(one, kept)


@both_rankers
def test_ctrl_c_in_the_code_of_the_user_leaves_everything_as_it_was(ranker):
    one = fitted(ranker, network=Linear(), warm_start=True)
    kept = state(one)
    network = one.network
    Interrupting.n_left = 5
    new = small(ranker, network=Interrupting())
    with pytest.raises(KeyboardInterrupt):
        new.fit(*DATA, groups=DATA.groups)
    assert not hasattr(new, "network_")
    InterruptingMetric.n_left = 25
    one.set_params(scoring=InterruptingMetric())
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            one.fit(*DATA, groups=DATA.groups, **of_val())
        InterruptingMetric.n_left = 15
    one.set_params(scoring=None)
    assert_unchanged(one, kept)
    assert one.network is network


@both_rankers
@pytest.mark.parametrize("solver", ["adam", "sgd"])
def test_after_a_failed_partial_fit_the_optimizer_goes_on_as_if_nothing_was(
    ranker, solver
):
    options = {"solver": solver, "learning_rate": "invscaling", "network": Linear()}
    one, other = (small(ranker, **options) for _ in range(2))
    for each in (one, other):
        each.partial_fit(*DATA, groups=DATA.groups)
    row = int(np.flatnonzero(DATA.groups == DATA.with_pairs().groups[0])[0])
    X = DATA.X.copy()
    X[row] = 1e38  # in one query: others are learned from before, or after
    with (
        pytest.raises(ValueError, match="diverged"),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        one.partial_fit(X, DATA.y, groups=DATA.groups)
    for each in (one, other):
        each.partial_fit(*VALIDATION, groups=VALIDATION.groups)
    assert model(one) == model(other)
    assert curve(one) == curve(other)


def test_ctrl_c_in_a_metric_that_is_learned_leaves_everything_as_it_was():
    one = fitted(LambdaRankRanker, warm_start=True)
    kept = state(one)
    InterruptingMetric.n_left = 500
    one.set_params(metric=InterruptingMetric())
    with pytest.raises(KeyboardInterrupt):
        one.fit(*DATA, groups=DATA.groups)
    one.set_params(metric=kept["params"]["metric"])
    assert_unchanged(one, kept)


@both_rankers
def test_an_interrupted_fit_can_be_repeated(ranker, monkeypatch):
    one = small(ranker, verbose=1, early_stopping=True)
    with monkeypatch.context() as patch:
        patch.setattr("builtins.print", interrupted)
        with pytest.raises(KeyboardInterrupt):
            one.fit(*DATA, groups=DATA.groups)
    with monkeypatch.context() as patch:
        patch.setattr("builtins.print", lambda *args, **kwargs: None)
        one.fit(*DATA, groups=DATA.groups)
    assert model(one) == model(fitted(ranker, early_stopping=True))


@pytest.mark.skipif(sys.platform == "win32", reason="no signal to send")
@both_rankers
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_ends_a_fit_at_once_and_leaves_everything_as_it_was(ranker, n_jobs):
    data = large()
    data.X = data.X[:, :4]
    one = fitted(ranker, data, n_jobs=n_jobs, batch_size=FULL_BATCH, warm_start=True)
    kept = state(one)
    one.set_params(max_iter=10**7, tol=0.0, n_iter_no_change=10**7)
    with pytest.raises(KeyboardInterrupt), ctrl_c_soon():
        one.fit(*data, groups=data.groups)
    one.set_params(**kept["params"])
    assert_unchanged(one, kept)


# --- clear errors -----------------------------------------------------------------


def changed(values, row, value):
    values = np.array(values, dtype=float)
    values[row] = value
    return values


ROW, QUERY, N = 5, int(DATA.groups[5]), len(DATA.y)
BAD_INPUT = [
    ({"y": DATA.y[:-1]}, rf"^y .*{N} rows.*{N - 1}"),
    ({"y": None}, r"^y "),
    ({"y": DATA.y[:, None]}, r"^y .*shape"),
    ({"y": ["a"] * N}, r"^y .*numeric"),
    ({"groups": DATA.groups[:-1]}, rf"^groups .*{N} rows"),
    ({"groups": changed(DATA.groups, ROW, NAN)}, rf"^groups .*row {ROW}"),
    ({"sample_weight": [1.0]}, rf"^sample_weight .*{N} rows"),
    (
        {"sample_weight": changed(np.ones(N), ROW, 2)},
        rf"^sample_weight .*constant within a query.*query {QUERY}\b",
    ),
    (
        {"sample_weight": changed(np.ones(N), DATA.groups == QUERY, -1)},
        rf"^sample_weight .*query {QUERY}\b",
    ),
    ({"sample_weight": np.zeros(N)}, r"^sample_weight .*zero"),
    ({"y": changed(DATA.y, ROW, -1)}, rf"^y .*row {ROW} \(query {QUERY}\).*-1"),
    ({"y": changed(DATA.y, ROW, NAN)}, rf"^y .*row {ROW} \(query {QUERY}\).*nan"),
    ({"y": changed(DATA.y, ROW, INF)}, rf"^y .*row {ROW} \(query {QUERY}\).*inf"),
    ({"y": np.ones(N)}, r"^y .*two different grades"),
    ({"groups": np.arange(N)}, r"^y .*two different grades.*groups"),
    ({"X": changed(DATA.X, (ROW, 2), INF)}, rf"\bX\b.*inf.*row {ROW}.*column 2"),
    ({"X": changed(DATA.X, (ROW, 2), NAN)}, rf"\bX\b.*NaN.*row {ROW}.*column 2"),
    ({"X": DATA.X[:0], "y": [], "groups": []}, r"\bX\b"),
    ({"X": DATA.X[:, :0]}, r"\bX\b"),
    ({"X": DATA.X[:, 0]}, r"\bX\b"),
    ({"X": DATA.X[None]}, r"\bX\b"),
    ({"X": DATA.X.astype(str).astype(object) + "x"}, r"\bX\b"),
    ({"X": DATA.X + 1j}, r"[Cc]omplex"),
    ({"X": pd.DataFrame({"a": pd.date_range("2020", periods=N)})}, r"\bX\b.*'a'"),
    ({"X": (DATA.X[:, :1] * 100).astype("datetime64[D]")}, r"\bX\b"),
    ({"X": pd.DataFrame(DATA.X, columns=[*"abcd"]).assign(b="text")}, r"\bX\b.*'b'"),
]


@both_rankers
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize(("changes", "message"), BAD_INPUT, ids=range(len(BAD_INPUT)))
def test_bad_input_is_refused_by_name(ranker, changes, message, method):
    arguments = {"X": DATA.X, "y": DATA.y, "groups": DATA.groups} | changes
    with pytest.raises((ValueError, TypeError), match=message):
        getattr(small(ranker), method)(**arguments)


@both_rankers
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X_val": changed(DATA.X, (ROW, 2), INF)}, rf"\bX_val\b.*row {ROW}"),
        ({"X_val": changed(DATA.X, (ROW, 2), 1e39)}, rf"\bX_val\b.*row {ROW}"),
        ({"X_val": DATA.X[:, :2]}, r"features"),
        ({"X_val": DATA.X[:0], "y_val": [], "groups_val": []}, r"\bX_val\b"),
        ({"y_val": None}, r"^y_val "),
        ({"y_val": DATA.y[:-1]}, r"^y_val .*rows"),
        ({"y_val": changed(DATA.y, ROW, -1)}, rf"^y_val .*row {ROW} .query {QUERY}\b"),
        ({"groups_val": DATA.groups[:-1]}, r"^groups_val .*rows"),
        ({"sample_weight_val": np.arange(N)}, r"^sample_weight_val .*const"),
        ({"X_val": None}, r"X_val"),
        ({"X_val": None, "y_val": None}, r"X_val"),
    ],
    ids=range(11),
)  # fmt: skip
@pytest.mark.parametrize("early_stopping", ["auto", False])
def test_bad_validation_data_is_refused_by_name(
    ranker, changes, message, early_stopping
):
    arguments = {"X_val": DATA.X, "y_val": DATA.y, "groups_val": DATA.groups} | changes
    with pytest.raises((ValueError, TypeError), match=message):
        small(ranker, early_stopping=early_stopping).fit(
            *DATA, groups=DATA.groups, **arguments
        )


RATIOS = ("momentum", "beta_1", "beta_2", "validation_fraction")
REALS = ("sigma", "alpha", "learning_rate_init", "power_t", "tol", "epsilon", *RATIOS)
COUNTS = ("max_iter", "n_iter_no_change")
BAD_PARAMETERS = [
    *((name, value) for name in ("sigma", "learning_rate_init", "epsilon")
      for value in (0, -1.0)),
    *((name, INF) for name in ("sigma", "learning_rate_init", "alpha", "tol",
                               "power_t")),
    *((name, value) for name in COUNTS for value in (0, -3, 2.5)),
    *((name, -0.1) for name in ("alpha", "power_t", "tol", *RATIOS)),
    *((name, 1.1) for name in RATIOS),
    *((name, NAN) for name in REALS),
    *((name, "1") for name in (*REALS, *COUNTS, "verbose", "n_jobs")),
    *((name, None) for name in (*REALS, *COUNTS, "verbose", "activation", "solver",
                                "learning_rate", "early_stopping", "warm_start",
                                "nesterovs_momentum", "hidden_layer_sizes")),
    *(("batch_size", value) for value in (0, -3, 2.5, "1", None, NAN, "all")),
    ("epsilon", 1e-60),  # zero in single precision
    ("beta_1", 1.0),
    ("beta_2", 1.0),
    ("validation_fraction", 0.0),
    ("validation_fraction", 1.0),
    ("verbose", -1),
    ("n_jobs", 0),
    ("n_jobs", 1.5),
    *(("hidden_layer_sizes", value) for value in
      (0, -1, (0,), (5, -2), (2.5,), ("5",), "5", "relu", [[5, 3]], (None,), {5, 3},
       5.0, (5, (3,)), np.zeros((2, 0)), (n for n in (5,)))),
    ("activation", "sigmoid"),
    ("activation", ["relu"]),
    ("solver", "lbfgs"),
    ("learning_rate", 0.1),
    ("learning_rate", "optimal"),
    ("early_stopping", "yes"),
    ("early_stopping", 0.5),
    ("warm_start", "no"),
    ("nesterovs_momentum", "no"),
    ("random_state", "seed"),
    ("random_state", -1),
    ("scoring", "ndgc"),
    ("scoring", 10),
    ("scoring", NDCG),
]  # fmt: skip


@both_rankers
@pytest.mark.parametrize(
    ("name", "value"), BAD_PARAMETERS, ids=[f"{n}={v}"[:40] for n, v in BAD_PARAMETERS]
)
def test_a_parameter_out_of_its_range_is_refused_by_name(ranker, name, value):
    one = small(ranker, **{name: value})
    message = {"random_state": "(?i)seed", "scoring": "(?i)ndgc|ndcg|10"}
    for call in (one.fit, one.partial_fit):
        if name == "scoring" and call == one.partial_fit:
            continue
        with pytest.raises((ValueError, TypeError), match=message.get(name, name)):
            call(*DATA, groups=DATA.groups)


def test_bad_options_of_one_of_them_are_refused_by_name():
    for options in ({"tied_pairs": "no"}, {"tied_pairs": None}):
        with pytest.raises((ValueError, TypeError), match="tied_pairs"):
            fitted(RankNetRanker, **options)
    for metric in ("ndgc@10", "ndcg@0", 10, NDCG):
        with pytest.raises((ValueError, TypeError), match="(?i)ndcg|k, |10"):
            fitted(LambdaRankRanker, metric=metric)


@both_rankers
def test_a_share_that_holds_out_every_query_is_refused(ranker):
    two = DATA.take(DATA.groups < 2)
    with pytest.raises(ValueError, match="validation_fraction"):
        fitted(ranker, two, early_stopping=True, validation_fraction=0.9)


@both_rankers
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: r.predict(DATA.X[:, :3]), "3 features"),
        (lambda r: r.predict(changed(DATA.X, (1, 1), INF)), r"\bX\b.*row 1, column 1"),
        (lambda r: r.predict(changed(DATA.X, (1, 1), NAN)), r"\bX\b.*row 1, column 1"),
        (lambda r: r.predict(DATA.X[:0]), r"\bX\b|0 sample"),
        (lambda r: r.rank(DATA.X, groups=[1]), "groups"),
        (lambda r: r.score(DATA.X, DATA.y[:-1], groups=DATA.groups), "^y "),
        (lambda r: r.score(DATA.X, DATA.y, groups=DATA.groups[1:]), "^groups "),
    ],
)  # fmt: skip
def test_bad_input_after_fit_is_refused_by_name(ranker, call, message):
    with pytest.raises(ValueError, match=message):
        call(fitted(ranker, max_iter=1))


@both_rankers
def test_a_table_whose_rows_are_all_the_same_is_told_of(ranker):
    same = Lists(np.ones((N, 2)), DATA.y, DATA.groups)
    with pytest.warns(UserWarning, match="same score") as caught:
        one = small(ranker).fit(*same, groups=same.groups)
    assert [w.filename for w in caught] == [__file__]
    assert len(set(one.predict([[1, 1], [1, 1]]))) == 1


@both_rankers
def test_two_documents_of_one_column_are_enough(ranker):
    one = small(ranker, max_iter=100).fit([[0], [1]], [0, 1], groups=[7, 7])
    low, high = one.predict([[0], [1]])
    assert low < high


@both_rankers
def test_training_a_separable_toy_for_long_stays_finite(ranker):
    data = toy()
    one = fitted(
        ranker, data, solver="sgd", learning_rate_init=5.0, max_iter=150, tol=0.0,
        hidden_layer_sizes=(), n_iter_no_change=150,
    )  # fmt: skip
    assert np.isfinite(one.predict(data.X)).all()
    assert np.isfinite(curve(one)).all()
    assert one.score(*data, groups=data.groups) == pytest.approx(1.0)
