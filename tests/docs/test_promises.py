"""Every promise, of every estimator, in every meta-estimator, whatever `fit` is given.

A cell of the table is a promise, an estimator, a meta-estimator, and an argument of
`fit` or a parameter.  All but the promises and the meta-estimators are read from what
is public.  A test for each promise and meta-estimator draws the rest, several arguments
and parameters at once, and data.  What a meta-estimator refuses is enumerated, and
``python -m tests.docs.test_promises`` writes it into docs/promises.md.
"""

from __future__ import annotations

import inspect
import pickle
import re
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np
import pytest
import sklearn
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags

import sklearn_ltr
from sklearn_ltr import LambdaMARTRanker, mart
from sklearn_ltr._core.parameters import (
    FRACTION_OR_COUNT,
    Choice,
    Or,
    Range,
    declared_values,
)
from sklearn_ltr.calibration import CalibratedRanker
from sklearn_ltr.ensemble import BaggingRanker, BlendedRanker
from sklearn_ltr.mart import MARTClassifier
from sklearn_ltr.metrics import ndcg_score
from sklearn_ltr.model_selection import RankerSearch
from sklearn_ltr.scorers import make_ranking_scorer
from tests.oracles import draws
from tests.strategies import Rows, rows

# positions are tried without a position_bias, too
pytestmark = pytest.mark.filterwarnings("ignore::sklearn_ltr.UnusedPositionsWarning")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "promises.md"

# --- the axes ---------------------------------------------------------------------

ESTIMATORS = [
    kind
    for room in (sklearn_ltr, mart)
    for kind in (getattr(room, name) for name in room.__all__)
    if hasattr(kind, "fit") and hasattr(kind, "predict")
]
BY_GRADES = [
    kind for kind in ESTIMATORS if "groups" in inspect.signature(kind.fit).parameters
]


def small(kind: type, **options: Any) -> Any:
    """Return an estimator that is fitted quickly; fewer options than are declared."""
    sizes = {"n_estimators": 3, "max_leaf_nodes": 5, "min_samples_leaf": 2}
    sizes |= {"max_iter": 2, "hidden_layer_sizes": (3,), "random_state": 0}
    own = kind().get_params()
    return kind(**{k: v for k, v in sizes.items() if k in own} | options)


class InMeta(NamedTuple):
    """A meta-estimator around an estimator."""

    build: Callable[[Any, Mapping[str, Any]], Any]
    options: Mapping[str, list[Any]] = {}  # the values of its own that are drawn
    prefix: str = ""  # of the parameters of the estimator


def blend(estimator: Any, options: Mapping[str, Any]) -> BlendedRanker:
    rankers = [("learner", estimator), ("other", clone(estimator))]
    return BlendedRanker(rankers, cv=2, random_state=0, **options)


def search(estimator: Any, options: Mapping[str, Any]) -> GridSearchCV:
    scoring = make_ranking_scorer("ndcg@5").set_score_request(sample_weight=True)
    return GridSearchCV(
        estimator, {}, cv=GroupKFold(2), scoring=scoring, error_score="raise"
    )


METAS = {
    "alone": InMeta(lambda estimator, options: estimator),
    "BaggingRanker": InMeta(
        lambda estimator, options: BaggingRanker(
            estimator, n_estimators=2, random_state=0, **options
        ),
        {"bootstrap": [True, False], "max_samples": [1.0, 0.7]},
        "estimator__",
    ),
    "BlendedRanker": InMeta(
        blend, {"method": ["sweep", "equal", "lambdarank"]}, "learner__"
    ),
    "CalibratedRanker": InMeta(
        lambda estimator, options: CalibratedRanker(estimator, cv=2, **options),
        {"method": ["isotonic", "sigmoid", "query_isotonic"]},
        "ranker__",
    ),
    "RankerSearch": InMeta(
        lambda estimator, options: RankerSearch(
            estimator, param_distributions={}, time=None, n_iter=1, cv=2, **options
        ),
        {},
        "ranker__",
    ),
    "Pipeline": InMeta(
        lambda estimator, options: Pipeline(
            [("abs", FunctionTransformer(np.abs)), ("learner", estimator)],
            transform_input=["X_val"],
        ),
        {},
        "learner__",
    ),
    "init": InMeta(
        lambda estimator, options: small(LambdaMARTRanker, init=estimator, **options),
        {"early_stopping": ["auto", True]},
        "init__",
    ),
    "GridSearchCV": InMeta(search, {}, "estimator__"),
}


METRICS = ["ndcg@5", "ndcg", "map", "mrr@3", "err"]
#: values of parameters whose declared ones are too many, too slow, or not declared
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "n_estimators": st.integers(1, 5),
    "max_iter": st.integers(1, 3),
    "n_iter_no_change": st.integers(1, 3),
    "dart": st.sampled_from([0.5, {"rate_drop": 0.9, "skip_drop": 0, "max_drop": 2}]),
    "learning_rate": st.floats(0.1, 1),  # of trees
    "learning_rate_init": st.floats(0.001, 0.1),
    "validation_fraction": st.floats(0.2, 0.6),
    "hidden_layer_sizes": st.sampled_from([(), (3,), (4, 2)]),
    "random_state": st.integers(0, 3),
    "metric": st.sampled_from([*METRICS, None]),
    "objective": st.just("lambdarank"),
    "scoring": st.sampled_from(METRICS) | st.just(["map", "ndcg@3"]),
    "categorical_features": st.just([2]),
    "monotonic_cst": st.sampled_from([[1, 0, 0, -1], [0, -1, 0, 0]]),
    "interaction_cst": st.sampled_from(["pairwise", "no_interactions", [{0, 1}]]),
    "class_weight": st.sampled_from([None, "balanced"]),
    "solver_params": st.none(),
    "network": st.none(),
    "label_weights": st.none(),
}
#: of the promises themselves, or of no effect on a model
NOT_DRAWN = ("init", "verbose", "n_jobs", "warm_start")


def values_of(name: str, declared: Any) -> st.SearchStrategy[Any]:
    """Return the moderate values among those declared for a parameter."""
    if name in VALUES and not isinstance(declared, Choice):
        return VALUES[name]
    if isinstance(declared, Choice):
        return st.sampled_from(declared.values)
    if declared is FRACTION_OR_COUNT:
        return st.sampled_from([0.5, 0.8, 1, 2])
    if isinstance(declared, Or):
        return st.sampled_from(declared.words) | values_of(name, declared.values)
    if not isinstance(declared, Range):  # of a position bias
        return st.sampled_from(re.findall('"([a-z]+)"', declared.in_words()))
    optional = st.none() if declared.optional else st.nothing()
    if declared.kind is Integral:
        low = int(declared.low)
        return st.integers(low, int(min(low + 9, declared.high))) | optional
    lowest = [0.0] if declared.low == 0 and declared.closed == "both" else [0.5]
    return st.sampled_from([*lowest, 0.3, 1.0]) | st.floats(
        max(declared.low, 0.1), min(declared.high, 3.0)
    )


def parameters_of(kind: type) -> dict[str, st.SearchStrategy[Any]]:
    declared = declared_values(kind._parameters)
    drawn = {k: v for k, v in declared.items() if k not in NOT_DRAWN}
    return {name: values_of(name, values) for name, values in drawn.items()}


#: Arguments that `fit` takes with `pairs` only
OF_PAIRS = {"pair_probabilities", "pair_weights"}

routed = sklearn.config_context(enable_metadata_routing=True)


# --- a case: some cells at once, and data -----------------------------------------


class Case(NamedTuple):
    """What is fitted: an estimator in a meta-estimator, and what `fit` is given."""

    kind: type
    meta: str
    arguments: tuple[str, ...]
    options: dict[str, Any]  # of the estimator
    meta_options: dict[str, Any]
    data: Rows
    val: Rows

    @routed
    def model(self) -> Any:
        """Return the estimator, which requests the arguments, in its meta-estimator."""
        learner = small(self.kind, **self.options)
        names = self.given().keys() & arguments_of_fit(self.kind).keys()
        learner.set_fit_request(**dict.fromkeys(names - {"X", "y"}, True))
        if "init_score" in self.arguments and self.kind is LambdaMARTRanker:
            learner.set_predict_request(init_score=True)
        return METAS[self.meta].build(learner, self.meta_options)

    def given(self) -> dict[str, Any]:
        """Return the arguments of `fit`."""
        given = self.columns(self.data, *self.arguments)
        if "X_val" in self.arguments:
            names = [n for n in ("sample_weight", "init_score") if n in self.arguments]
            of_val = self.columns(self.val, *names)
            if self.meta == "GridSearchCV" and self.kind not in BY_GRADES:
                del of_val["groups"]  # which only the folds need
            given |= {f"{name}_val": column for name, column in of_val.items()}
        if "pairs" in given and not self.has_metric:
            given["y"] = None
        return given

    @property
    def has_metric(self) -> bool:
        """Return whether pairs are weighted by the changes of a metric, of y."""
        if self.meta == "init":
            return True
        return getattr(small(self.kind, **self.options), "metric", None) is not None

    def columns(self, data: Rows, *names: str) -> dict[str, Any]:
        """Return X, y and queries, if these are wanted, and other columns."""
        X, y = data.X, data.y
        if not get_tags(self.kind()).input_tags.allow_nan:
            X = np.clip(np.nan_to_num(X), -1, 1)
        given = {"X": X, "y": (y > 1) * 1.0 if self.kind is MARTClassifier else y}
        if self.kind in BY_GRADES or self.meta not in ("alone", "Pipeline"):
            given["groups"] = data.groups
        given |= {name: data.columns[name] for name in names if name in data.columns}
        given |= {name: vars(data)[name] for name in names if name.startswith("pair")}
        return given

    @routed
    def fit(self, model: Any = None) -> Any:
        """Return the fitted model, by default of this case, or an error of refusal."""
        try:
            return (self.model() if model is None else model).fit(**self.given())
        except (ValueError, TypeError, UserWarning) as error:
            return error

    @routed
    def scores(self, model: Any, data: Rows | None = None) -> Any:
        """Return the scores of rows, by default of those to learn, or the error."""
        if isinstance(model, Exception):
            return model
        of = self.columns(self.data if data is None else data, *self.arguments)
        given = {"init_score": of["init_score"]} if "init_score" in of else {}
        predict = getattr(model, "decision_function", model.predict)
        try:
            return predict(of["X"], **given)
        except TypeError as error:
            return error

    def outcome(self, data: Rows | None = None) -> Any:
        """Fit, and return the scores of rows, or the error."""
        return self.scores(self.fit(), data)


def arguments_of_fit(kind: type) -> Mapping[str, Any]:
    return inspect.signature(kind.fit).parameters


def arguments_of(kind: type, meta: str) -> list[str]:
    """Return what `fit` may be given; "X_val" stands for all of validation data."""
    names = arguments_of_fit(LambdaMARTRanker if meta == "init" else kind)
    others = [name for name in names if name not in ("self", "X", "y", "groups")]
    return [name for name in others if name == "X_val" or not name.endswith("_val")]


@cache
def refusal(kind: type, meta: str, name: str) -> str:
    """Return why an argument, or a parameter set to True, is refused, or ""."""
    options, arguments = {}, (name,)
    if name not in arguments_of(kind, meta):
        options, arguments = {name: True}, ()
    elif name in OF_PAIRS:
        arguments = ("pairs", name)
    meta_options = {"bootstrap": True} if meta == "BaggingRanker" else {}
    case = Case(kind, meta, arguments, options, meta_options, Rows(0), Rows(1))
    outcome = case.outcome()
    return str(outcome) if isinstance(outcome, Exception) else ""


def switches_of(kind: type) -> list[str]:
    """Return the parameters that may be True."""
    declared = declared_values(kind._parameters).items()
    return [k for k, v in declared if isinstance(v, Choice) and v.values[0] is True]


@st.composite
def cases(draw: st.DrawFn, meta: str, weighted: bool = False) -> Case:
    """Some arguments and parameters that are not refused, of any estimator."""
    kind = draw(st.sampled_from(ESTIMATORS))
    known = [name for name in arguments_of(kind, meta) if not refusal(kind, meta, name)]
    arguments = set(draw(st.lists(st.sampled_from(known), max_size=3)))
    parameters = parameters_of(kind)
    varied = draw(st.lists(st.sampled_from(sorted(parameters)), max_size=4))
    options = {name: draw(parameters[name]) for name in varied}

    # what goes together
    if arguments & OF_PAIRS:
        arguments.add("pairs")
    if "pairs" in arguments:
        arguments &= {"pairs", "sample_weight"} | OF_PAIRS
        without = {"early_stopping": False, "position_bias": None}
        options |= {k: v for k, v in without.items() if k in parameters}
    if options.get("position_bias"):
        arguments.discard("propensities")
        if "positions" in known:
            arguments.add("positions")
        else:
            del options["position_bias"]
    if weighted:
        arguments.add("sample_weight")
    meta_options = METAS[meta].options.items()
    return Case(
        kind,
        meta,
        tuple(sorted(arguments)),
        options,
        {name: draw(st.sampled_from(values)) for name, values in meta_options},
        draw(rows),
        draw(rows),
    )


# --- the promises -----------------------------------------------------------------


def same(one: Any, other: Any) -> None:
    """Check that scores are the same bits, or that both fits were refused alike."""
    if isinstance(one, Exception) or isinstance(other, Exception):
        assert type(one) is type(other), (one, other)
    else:
        np.testing.assert_array_equal(one, other)


def the_order_of_rows(case: Case) -> None:
    shuffled = case._replace(data=case.data.shuffled(), val=case.val.shuffled())
    same(shuffled.outcome(), case.outcome(shuffled.data))


def the_number_of_threads(case: Case) -> None:
    found = []
    for n_jobs in (1, 2):
        model = case.model()
        names = [n for n in model.get_params() if n.split("__")[-1] == "n_jobs"]
        with joblib.parallel_config("threading"):
            found.append(
                case.scores(case.fit(model.set_params(**{n: n_jobs for n in names})))
            )
    same(*found)


def rows_of_weight_0(case: Case) -> None:
    data, val = case.data.with_weights_of_0(), case.val.with_weights_of_0()
    counted = [np.flatnonzero(of.columns["sample_weight"]) for of in (data, val)]
    kept = case._replace(data=data.take(counted[0]), val=val.take(counted[1]))
    same(case._replace(data=data, val=val).outcome(kept.data), kept.outcome())


def a_factor_of_weights(case: Case) -> None:
    factor = 2.0**-6
    options, own = dict(case.options), small(case.kind, **case.options).get_params()
    scaled = {"l2_regularization", "alpha"} & own.keys()
    options |= {name: own[name] * factor for name in scaled}
    if own.get("solver") == "sgd":
        options["learning_rate_init"] = own["learning_rate_init"] / factor
    elif "solver" in own:
        options["solver_params"] = {"epsilon": 1e-8 * factor}
    data, val = (
        of.with_weights(of.columns["sample_weight"] * factor)
        for of in (case.data, case.val)
    )
    same(case._replace(options=options, data=data, val=val).outcome(), case.outcome())


def pickling(case: Case) -> None:
    model = case.fit()
    same(case.scores(pickle.loads(pickle.dumps(model))), case.scores(model))


def a_warm_start(case: Case) -> None:
    # bags, blends and searches fit clones, which begin again
    model = case.model()
    params = model.get_params()
    owner = {"init": ""}.get(case.meta, METAS[case.meta].prefix)
    steps = next(owner + n for n in ("n_estimators", "max_iter") if owner + n in params)
    at_once = case.scores(case.fit(model.set_params(**{steps: 4})))
    model = case.model().set_params(**{owner + "warm_start": True, steps: 2})
    case.fit(model)
    same(case.scores(case.fit(model.set_params(**{steps: 4}))), at_once)


PROMISES = [
    the_order_of_rows,
    the_number_of_threads,
    rows_of_weight_0,
    a_factor_of_weights,
    pickling,
    a_warm_start,
]


class NotPromised(NamedTuple):
    """Cells in which a promise cannot hold."""

    promise: Callable[[Case], None]
    where: str
    why: str
    meta: str = ""  # whose cells these all are, or
    of: Callable[[Case], bool] = lambda case: False


NOT_PROMISED = [
    NotPromised(
        rows_of_weight_0,
        "`GridSearchCV` and its kin",
        "scikit-learn makes the folds, and counts rows of weight 0",
        meta="GridSearchCV",
    ),
    NotPromised(
        a_warm_start,
        "networks",
        "a second `fit` begins with a new optimizer; `partial_fit` continues",
        of=lambda case: (
            "solver" in case.kind().get_params() and case.meta in ("alone", "Pipeline")
        ),
    ),
    NotPromised(
        a_warm_start,
        "fits that stop early",
        "the second fit waits again for an improvement",
        of=lambda case: "early_stopping" in case.options or "X_val" in case.arguments,
    ),
    NotPromised(
        a_factor_of_weights,
        '`BlendedRanker(method="lambdarank")`',
        "it trains a network with the default `alpha`",
        of=lambda case: case.meta_options.get("method") == "lambdarank",
    ),
]
CELLS = [
    pytest.param(promise, meta, id=f"{promise.__name__}-{meta}")
    for promise in PROMISES
    for meta in METAS
    if not any((e.promise, e.meta) == (promise, meta) for e in NOT_PROMISED)
]


@pytest.mark.parametrize(("promise", "meta"), CELLS)
@settings(max_examples=settings().max_examples // 4)
@given(st.data())
def test_a_promise_holds(promise, meta, data):
    weighted = promise in (rows_of_weight_0, a_factor_of_weights)
    case = data.draw(cases(meta, weighted))
    assume(not any(e.promise is promise and e.of(case) for e in NOT_PROMISED))
    promise(case)


# --- nothing is measured on what it has learned -----------------------------------


class Memory(RegressorMixin, BaseEstimator):
    """Knows the grades of all rows that it has seen, and nothing of others."""

    def __init__(self, random_state: Any = None) -> None:
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Memory:
        self.n_features_in_ = X.shape[1]
        self.grade_ = {row.tobytes(): grade for row, grade in zip(X, y, strict=True)}
        return self

    def predict(self, X: Any) -> Any:
        return np.array([self.grade_.get(row.tobytes(), 0.0) for row in X])


def measured(model: Any) -> list[float]:
    """Return all that a model, and the models in it, have measured of `Memory`."""
    if isinstance(model, Pipeline):
        return measured(model[-1])
    if isinstance(model, GridSearchCV):
        return [model.best_score_, *measured(model.best_estimator_)]
    if isinstance(model, BaggingRanker):
        inner = [value for member in model.estimators_ for value in measured(member)]
        return [model.oob_score_, *inner]
    if isinstance(model, BlendedRanker):
        return [model.blend_score_, *(v for m in model.rankers_ for v in measured(m))]
    if isinstance(model, CalibratedRanker):
        return measured(model.ranker_)
    if isinstance(model, RankerSearch):
        return [model.best_score_, *measured(model.best_estimator_)]
    if isinstance(model, LambdaMARTRanker):
        return [*model.validation_score_, *measured(model.init_)]
    return []


#: meta-estimators that measure, or pass on what does
MEASURING: dict[str, tuple[str, dict[str, Any]]] = {
    "bootstrap": ("BaggingRanker", {"oob_score": True, "bootstrap": True}),
    "bag": ("BaggingRanker", {"oob_score": True, "max_samples": 0.6}),
    "blend": ("BlendedRanker", {"method": "sweep"}),
    "search": ("GridSearchCV", {}),
    "budget": ("RankerSearch", {}),
    "init": (  # under trees without a split, which know nothing either
        "init",
        {"early_stopping": True, "validation_fraction": 0.4, "min_samples_leaf": 1000},
    ),
    "Pipeline": ("Pipeline", {}),
    "nothing": ("alone", {}),
}


@pytest.mark.parametrize("inner", MEASURING)
@pytest.mark.parametrize("outer", list(MEASURING)[:-2])
@settings(max_examples=max(1, settings().max_examples // 40))
@given(st.sampled_from(list(MEASURING)[::-1]), st.integers(0, 10**6))
@routed
def test_nothing_is_measured_on_what_it_has_learned(outer, inner, innermost, seed):
    model: Any = Memory()
    for name in (innermost, inner, outer):
        meta, options = MEASURING[name]
        model = METAS[meta].build(model, options)
    rng = np.random.default_rng(seed)
    X, groups = rng.normal(size=(64, 3)), np.repeat(np.arange(16), 4)
    y = np.concatenate([rng.permutation(4) for _ in range(16)])
    unknown = ndcg_score(np.arange(4), np.zeros(4), groups=np.zeros(4), k=5)
    try:
        model.fit(X, y, groups=groups)
    except ValueError as error:  # copies of a query would be on either side
        assert "give bootstrap=False" in str(error)
        assert "bootstrap" in (outer, inner)
        return
    np.testing.assert_allclose(measured(model), unknown, rtol=1e-12)


@pytest.mark.parametrize("kind", BY_GRADES)
@settings(max_examples=settings().max_examples // 4)
@given(st.data(), rows)
def test_queries_held_out_are_as_if_given_as_validation_data(kind, data, d):
    parameters = parameters_of(kind)
    varied = data.draw(st.lists(st.sampled_from(sorted(parameters)), max_size=4))
    options = {name: data.draw(parameters[name]) for name in varied}
    options |= {"early_stopping": True, "position_bias": None}
    case = Case(kind, "alone", (), options, {}, d, d)
    queries = np.unique(d.groups)
    model = case.model()
    seed = draws.seed_of(model.random_state)
    drawn = draws.held_out(len(queries), model.validation_fraction, seed)
    held_out = np.isin(d.groups, queries[drawn])
    part = case._replace(
        arguments=("X_val",),
        data=d.take(np.flatnonzero(~held_out)),
        val=d.take(np.flatnonzero(held_out)),
    )
    same(case.outcome(d), part.outcome(d))


@routed
def test_a_search_cuts_no_validation_data_in_tuples():
    d = Rows(3)
    of_val = {"X_val": (d.X,), "y_val": (d.y,), "groups_val": (d.groups,)}
    model = search(small(LambdaMARTRanker, early_stopping=False), {})
    model.fit(d.X, d.y, groups=d.groups, **of_val)
    params = {"groups": d.groups, **of_val}
    found = cross_validate(
        model.estimator, d.X, d.y, params=params, cv=model.cv, return_estimator=True
    )
    for fold in [*found["estimator"], model.best_estimator_]:
        assert fold.evals_result_["validation"]["ndcg@10"][-1] == fold.score(
            d.X, d.y, groups=d.groups
        )


# --- the page ---------------------------------------------------------------------


def refused_cells() -> list[str]:
    """Return a line of the page for each message that refuses arguments."""
    cells: dict[tuple[str, str], dict[str, list[str]]] = {}
    for meta in METAS:
        for kind in ESTIMATORS:
            for name in [*arguments_of(kind, meta), *switches_of(kind)]:
                if message := refusal(kind, meta, name):
                    message = re.sub(r"'\w+'|\d+|\[.*?\]", "...", message)
                    of = cells.setdefault((meta, message), {})
                    of.setdefault(name, []).append(kind.__name__)
    return [
        f'- **{meta}**: {", ".join(f"`{name}`" for name in names)}: "{message}"'
        for (meta, message), names in cells.items()
    ]


def table() -> str:
    """Return the part of the page that this file knows."""
    n_cells = sum(
        len(arguments_of(kind, meta)) + len(parameters_of(kind))
        for kind in ESTIMATORS
        for meta in METAS
    )
    excepted = [
        f"- {e.promise.__name__.replace('_', ' ')}: {e.where}: {e.why}."
        for e in NOT_PROMISED
    ]
    return "\n".join(
        [
            f"{len(PROMISES)} promises x {len(ESTIMATORS)} estimators x {len(METAS)} "
            f"meta-estimators x their arguments and parameters: "
            f"{len(PROMISES) * n_cells:,} cells.",
            "",
            "Refused:",
            "",
            *refused_cells(),
            "",
            "Not promised:",
            "",
            *excepted,
        ]
    )


TABLE = re.compile(r"(<!-- tests/docs/test_promises.py -->\n).*?(<!-- end -->)", re.S)


def with_table(page: str) -> str:
    return TABLE.sub(lambda found: f"{found[1]}{table()}\n{found[2]}", page)


def test_the_page_lists_what_is_refused_and_what_is_not_promised():
    page = PAGE.read_text(encoding="utf-8")
    assert TABLE.search(page)
    assert with_table(page) == page


if __name__ == "__main__":
    warnings.simplefilter("error")
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
