"""The metrics against definitions written out, brute-force swaps and known numbers."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import warnings
from dataclasses import fields
from functools import partial
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from sklearn_ltr import LambdaMARTRanker, metrics
from sklearn_ltr.ensemble import best_blend
from sklearn_ltr.inspection import compute_lambdas
from sklearn_ltr.metrics import (
    ERR,
    MAP,
    MRR,
    NDCG,
    BPref,
    Metric,
    Precision,
    Recall,
    RPrecision,
    get_metric,
    rank_scores,
)
from sklearn_ltr.metrics._metric import METRICS
from sklearn_ltr.metrics._ranked_list import rank_documents
from sklearn_ltr.scorers import make_ranking_scorer
from tests.oracles import metrics as oracle
from tests.strategies import Ranking, rankings

# of drawn grades; a test of its own is below
pytestmark = pytest.mark.filterwarnings("ignore:to .* every document is relevant")

# Sums of a few dozen numbers of size 1 to 100, in another order than the oracle's.
SUM = {"rtol": 1e-12, "atol": 1e-12}


def ndcg_linear_letor(ranked, k):
    return oracle.ndcg(ranked, k, oracle.linear, oracle.discount_letor)


# metric of a cutoff, and the definition it must agree with
CASES = {
    name: (partial(type(get_metric(name)), **options), definition)
    for name, (definition, options) in oracle.DEFINITIONS.items()
} | {
    "ndcg, linear gain, LETOR discount": (
        partial(NDCG, gain="linear", discount="letor"),
        ndcg_linear_letor,
    ),
    "map, at most k": (
        partial(MAP, divide_by="at_most_k"),
        partial(oracle.average_precision, at_most_k=True),
    ),
    "recall, at most k": (
        partial(Recall, divide_by="at_most_k"),
        partial(oracle.recall, at_most_k=True),
    ),
}
every_metric = pytest.mark.parametrize("case", CASES)
# One for each kernel of values.
every_kernel = pytest.mark.parametrize(
    "case", {CASES[case][0](2)._values_kernel: case for case in CASES}.values()
)
# No cutoff; one inside of most lists; one beyond the longest of SMALL_LISTS.
every_cutoff = pytest.mark.parametrize("k", [None, 2, 9])

SMALL_LISTS = [
    list(ranked) for n in range(1, 5) for ranked in product([0.0, 1.0, 2.5], repeat=n)
]


class ShareOfPerfectStart(Metric):
    """A user's metric without a closed form: leading documents in best order."""

    def value(self, ranked_grades):
        best = np.sort(ranked_grades)[::-1]
        wrong = np.flatnonzero(ranked_grades != best)
        return (wrong[0] if len(wrong) else len(best)) / len(best)


def as_one_data_set(lists):
    """Rows and groups of several (scores, grades) lists."""
    sizes = [len(scores) for scores, _ in lists]
    scores = np.concatenate([scores for scores, _ in lists])
    y = np.concatenate([grades for _, grades in lists])
    return y, scores, np.repeat(np.arange(len(lists)), sizes)


# --- values -----------------------------------------------------------------------


@every_metric
@every_cutoff
def test_value_and_kernel_agree_with_the_definition_on_every_small_list(case, k):
    make, definition = CASES[case]
    expected = [definition(ranked, k) for ranked in SMALL_LISTS]
    values = [make(k).value(np.array(ranked)) for ranked in SMALL_LISTS]
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-13)
    lists = [(-np.arange(len(ranked)), ranked) for ranked in SMALL_LISTS]
    y, scores, groups = as_one_data_set(lists)
    actual = make(k).per_query(y, scores, groups=groups)
    np.testing.assert_allclose(actual, expected, **SUM)


@every_metric
@every_cutoff
def test_averaged_ties_are_the_mean_over_all_orders(case, k):
    make, definition = CASES[case]
    lists, expected = [], []
    for grades in SMALL_LISTS:
        for cuts in product([0, 1], repeat=len(grades) - 1):
            scores = -np.cumsum([0, *cuts])  # every way to cut the list into runs
            lists.append((scores, grades))
            expected.append(
                oracle.mean_over_orders_of_ties(
                    lambda ranked: definition(ranked, k), scores.tolist(), grades
                )
            )
    y, scores, groups = as_one_data_set(lists)
    actual = make(k, ties="average").per_query(y, scores, groups=groups)
    np.testing.assert_allclose(actual, expected, **SUM)


@every_kernel
def test_averaged_ties_hold_for_a_run_of_seven_across_the_cutoff(case, k=6):
    make, definition = CASES[case]
    scores, grades = [1.0] + [0.0] * 7, [1.0, 0.0, 2.5, 0.0, 1.0, 3.0, 0.0, 0.0]
    expected = oracle.mean_over_orders_of_ties(
        lambda ranked: definition(ranked, k), scores, grades
    )
    actual = make(k, ties="average")(grades, scores, groups=[0] * 8)
    assert actual == pytest.approx(expected, rel=1e-12)


@every_metric
@given(data=rankings(), k=st.sampled_from([None, 1, 3, 5]))
def test_ties_go_against_the_model_or_stay_in_row_order(case, data, k):
    make, definition = CASES[case]
    data = Ranking(np.minimum(data.y, 3.0), data.scores, data.groups)
    hostile, stable = [], []
    for scores, y in data.lists():
        against = oracle.ranked_against_the_model(scores, y)
        hostile.append(definition([y[i] for i in against], k))
        in_rows = oracle.ranked_in_row_order(scores)
        stable.append(definition([y[i] for i in in_rows], k))
    rows = {"groups": data.groups}
    actual = make(k).per_query(data.y, data.scores, **rows)
    np.testing.assert_allclose(actual, hostile, **SUM)
    actual = make(k, ties="stable").per_query(data.y, data.scores, **rows)
    np.testing.assert_allclose(actual, stable, **SUM)


def test_err_takes_its_scale_from_all_the_data_at_hand():
    y, scores, groups = [1, 0, 2], [2, 1, 1], ["a", "a", "b"]
    np.testing.assert_allclose(
        ERR().per_query(y, scores, groups=groups), [1 / 4, 3 / 4], rtol=1e-15
    )


# --- properties -------------------------------------------------------------------


@pytest.mark.parametrize("case", ["ndcg", "map", "err"])
@given(data=rankings(), k=st.sampled_from([None, 1, 3]), random=st.randoms())
def test_the_order_of_the_rows_does_not_change_averaged_ties(case, data, k, random):
    metric = CASES[case][0](k, ties="average")
    data = Ranking(np.minimum(data.y, 3.0), data.scores, data.groups)
    rows = list(range(len(data.y)))
    random.shuffle(rows)
    np.testing.assert_allclose(
        metric.per_query(data.y, data.scores, groups=data.groups),
        metric.per_query(data.y[rows], data.scores[rows], groups=data.groups[rows]),
        rtol=1e-13,  # averaged products of a run are built in another order
        atol=1e-13,
    )


# --- the order of documents -------------------------------------------------------


# Lists of up to one block of 128, one more, several; cutoffs for which documents are
# inserted, blocks are merged down to the cutoff, or completely.
@pytest.mark.parametrize("n", [1, 7, 128, 129, 257, 600])
@pytest.mark.parametrize("k", [1, 10, 64, 129, 2000])
def test_the_first_k_positions_are_in_order(n, k):
    rng = np.random.default_rng(n + k)
    for n_scores, stable in product((1, 5, 10 * n), (False, True)):
        scores = rng.integers(0, n_scores, n).astype(float)
        grades = rng.integers(0, 3, n).astype(float)
        # the second of three lists is ranked alone
        order, offsets = np.full(n + 4, -1), np.array([0, 2, 2 + n, 4 + n])
        padded = (np.pad(values, 2, constant_values=1) for values in (scores, grades))
        rank_documents(1, 2, *padded, offsets, k, order, stable)
        expected = (
            oracle.ranked_in_row_order(scores)
            if stable
            else oracle.ranked_against_the_model(scores, grades)
        )
        found = (order[2:-2] - 2).tolist()
        assert found[:k] == expected[:k]
        assert sorted(found) == list(range(n))
        assert (order[[0, 1, -2, -1]] == -1).all()


@pytest.mark.parametrize("k", [3, 300])
@pytest.mark.parametrize(("around", "step"), [(1.0, 1e-12), (1e300, 1e290), (0.0, 0.0)])
def test_scores_that_are_equal_in_single_precision_are_ranked(around, step, k, n=300):
    rng = np.random.default_rng(n)
    scores = rng.choice([-1.0, 1.0], n) * around + rng.integers(-n, n, n) * step
    with np.errstate(over="ignore"):
        assert len(np.unique(scores.astype(np.float32))) <= 2
    grades = rng.integers(0, 3, n).astype(float)
    order = np.empty(n, dtype=np.int64)
    rank_documents(0, 1, scores, grades, np.array([0, n]), k, order, False)
    assert order[:k].tolist() == oracle.ranked_against_the_model(scores, grades)[:k]


# --- swap deltas ------------------------------------------------------------------


@every_metric
@every_cutoff
def test_a_swap_delta_is_the_change_of_the_value_by_the_swap(case, k):
    make, definition = CASES[case]
    for ranked in SMALL_LISTS:
        delta = make(k).swap_delta(np.array(ranked))
        assert delta.shape == (len(ranked), len(ranked))
        np.testing.assert_array_equal(delta, delta.T)
        np.testing.assert_array_equal(np.diag(delta), 0.0)
        if k is not None:  # exactly nothing
            np.testing.assert_array_equal(delta[k:, k:], 0.0)
        for p, q in combinations(range(len(ranked)), 2):
            change = oracle.change_by_swap(lambda r: definition(r, k), ranked, p, q)
            assert delta[p, q] == pytest.approx(abs(change), abs=1e-14)


def test_the_change_of_err_keeps_its_digits_behind_almost_certain_satisfaction():
    # grade 50 of 50 leaves a chance of 2^-50 to go on; the swap behind it is tiny
    ranked = np.array([50.0, 49.0, 0.0])
    on = 2.0**-50
    better, worse = 0.5 - on, 0.0
    expected = on * (better - worse) * (1 / 2 - 1 / 3)
    assert ERR().swap_delta(ranked)[1, 2] == pytest.approx(expected, rel=1e-12)
    # positions 0 and 1: on * (change of what stands first)
    first, second = 1 - on, 0.5 - on
    before = first + (1 - first) * second / 2
    after = second + (1 - second) * first / 2
    delta = ERR().swap_delta(ranked)[0, 1]
    assert delta == pytest.approx(before - after, rel=1e-12)


# --- a user's own metric ----------------------------------------------------------


def test_a_users_metric_is_evaluated_query_by_query():
    metric = ShareOfPerfectStart()
    delta = metric.swap_delta(np.array([2.0, 0.0, 1.0]))
    expected = [[0, 1 / 3, 1 / 3], [1 / 3, 0, 2 / 3], [1 / 3, 2 / 3, 0]]
    np.testing.assert_allclose(delta, expected)
    values = metric.per_query(
        [1, 2, 0, 0, 2, 1], [3, 2, 1, 0, 5, 4], groups=list("aaabcc")
    )
    np.testing.assert_array_equal(values, [0.0, 0.0, 1.0])  # b has nothing relevant
    with pytest.raises(ValueError, match="ties=.*ShareOfPerfectStart"):
        ShareOfPerfectStart(ties="average")
    assert metric([1, 0], [0, 0], groups=[7, 7]) == 0.0  # ties against the model
    assert ShareOfPerfectStart(ties="stable")([1, 0], [0, 0], groups=[7, 7]) == 1.0
    assert ShareOfPerfectStart(5).name == "shareofperfectstart@5"


# --- queries with no relevant document, weights, the mean -----------------------------

Y, SCORES, GROUPS = [1, 0, 0, 0, 0, 2], [1, 2, 1, 2, 1, 2], list("aabbcc")


@every_metric
def test_a_query_with_no_relevant_document_has_the_value_of_no_relevant(case):
    for rule, value in (("zero", 0.0), ("one", 1.0)):
        metric = CASES[case][0](no_relevant=rule, k=2)
        values = metric.per_query(Y, SCORES, groups=GROUPS)
        assert values[1] == value
        assert metric(Y, SCORES, groups=GROUPS) == pytest.approx(values.mean())


def test_a_skipped_query_does_not_count():
    metric = MRR(no_relevant="skip")
    values = metric.per_query(Y, SCORES, groups=GROUPS)
    np.testing.assert_array_equal(values, [0.5, np.nan, 1.0])
    assert metric(Y, SCORES, groups=GROUPS) == 0.75
    weights = [1, 1, 9, 9, 3, 3]
    assert metric(Y, SCORES, groups=GROUPS, sample_weight=weights) == 3.5 / 4
    assert MRR()(Y, SCORES, groups=GROUPS, sample_weight=weights) == 3.5 / 13
    assert MRR(no_relevant="error")([1], [0], groups=["a"]) == 1.0
    with pytest.raises(ValueError, match="no query to average"):
        metric([0, 0], [1, 2], groups=["a", "a"])


def test_the_threshold_of_relevance_can_be_raised():
    y, scores, groups = [1, 2, 3], [3, 2, 1], [0, 0, 0]
    assert MRR(relevant_from=2)(y, scores, groups=groups) == 1 / 2
    assert MAP(relevant_from=2.5)(y, scores, groups=groups) == pytest.approx(1 / 3)
    assert Precision(2, relevant_from=2)(y, scores, groups=groups) == 1 / 2
    nothing = MRR(relevant_from=4, no_relevant="one")
    assert nothing(y, scores, groups=groups) == 1.0


# --- gain and discount ------------------------------------------------------------


def test_gain_may_be_a_table_or_a_function():
    y, scores, groups = [0, 1, 2, 3], [4, 3, 2, 1], [0] * 4
    expected = NDCG(3)(y, scores, groups=groups)
    for gain in ([0, 1, 3, 7], np.array([0.0, 1, 3, 7, 15]), lambda g: 2.0**g - 1):
        assert NDCG(3, gain=gain)(y, scores, groups=groups) == pytest.approx(expected)
    # the ideal list follows the gains, so a table with plateaus is a measure too
    assert NDCG(gain=[0, 0, 1, 1]).value(np.array([2.0, 3, 0, 1])) == 1.0


def test_large_real_grades_are_legal_up_to_what_float64_holds():
    y = [1000.0, 900.5, 0.0]
    assert NDCG()(y, [3, 2, 1], groups=[0] * 3) == 1.0
    assert NDCG(gain="linear")([1e300, 1], [1, 2], groups=[0, 0]) < 1.0
    with pytest.raises(ValueError, match="float64.*query 'q' has grade 1023.9"):
        NDCG()([0, 1023.9], [1, 2], groups=["q", "q"])


def test_a_list_shorter_than_k_may_count_nothing():
    """The rule of the LETOR 4.0 script."""
    y, scores, groups = [1, 1, 0, 1, 0], [1, 1, 3, 2, 1], list("abbbc")
    values = NDCG(3, discount="letor", short_lists="zero").per_query(
        y, scores, groups=groups
    )
    expected = [0.0, oracle.letor4_ndcg([0, 1, 1], 3), 0.0]
    np.testing.assert_allclose(values, expected, **SUM)
    short = NDCG(3, short_lists="zero")
    assert short.value(np.array([1.0, 0.0])) == 0.0
    np.testing.assert_array_equal(short.swap_delta(np.array([1.0, 0.0])), 0.0)
    assert NDCG(short_lists="zero").value(np.array([1.0, 0.0])) == 1.0


def test_a_mean_compares_scores_as_given():
    y, scores, groups = [1, 0, 2, 0], [3, 4, 2, 1], [0] * 4
    large = [2**60 + score for score in scores]  # equal in float64
    assert MAP()(y, large, groups=groups) == MAP()(y, scores, groups=groups)


@pytest.mark.parametrize("name", ["ndcg", "map", "dcg@3", "err"])
def test_weights_of_any_size_give_the_same_mean(name):
    rng = np.random.default_rng(0)
    y, scores = rng.integers(0, 3, 60), rng.normal(size=60)
    groups, weight = np.repeat(np.arange(12), 5), np.repeat(rng.integers(1, 4, 12), 5)
    given = {"groups": groups, "metric": name}
    metric = get_metric(name)
    expected = metric(y, scores, groups=groups, sample_weight=weight)
    curve = best_blend(scores, -scores, y, sample_weight=weight, **given)
    for exponent in (-1074, -500, 500, 1022):
        scaled = np.ldexp(weight.astype(float), exponent)
        assert metric(y, scores, groups=groups, sample_weight=scaled) == expected
        found = best_blend(scores, -scores, y, sample_weight=scaled, **given)
        assert (found.alpha, found.value) == (curve.alpha, curve.value)
        assert found.values.tolist() == curve.values.tolist()
    # what is too small to count beside the others is as if it were not there
    scaled = np.where(groups < 6, 1e308, 5e-324)
    kept = metric(y[:30], scores[:30], groups=groups[:30])
    found = metric(y, scores, groups=groups, sample_weight=scaled)
    assert found == pytest.approx(kept, rel=1e-14)


def test_values_of_any_size_have_a_mean():
    class Large(Metric):
        def value(self, ranked_grades):
            return 1e308 * ranked_grades[0]

    mean = Large()([1, 1, 0], [3, 2, 1], groups=[0, 1, 2], sample_weight=[2, 1, 1])
    assert mean == pytest.approx(0.75e308)


# --- objects, names, functions ----------------------------------------------------


def test_every_metric_has_a_definition():
    assert oracle.DEFINITIONS.keys() == METRICS.keys()


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_its_name_and_its_function_are_called_alike(name):
    assert get_metric(name) == METRICS[name]()
    assert get_metric(f"{name}@10") == METRICS[name](10)
    assert get_metric(f"{name}@10").name == f"{name}@10"
    assert get_metric(METRICS[name](3)) == METRICS[name](3)
    assert {METRICS[name].__name__, f"{name}_score"} <= set(metrics.__all__)
    assert METRICS[name].__name__.lower() == name.replace("_", "")


def test_a_metric_of_the_user_has_no_name_in_the_table():
    for base in (Metric, NDCG):
        members = {"short_name": "mine"}
        if base is Metric:
            members["value"] = lambda self, ranked_grades: 0.0
        type("Mine", (base,), members)
        message = "unknown metric 'mine'. The names are map, bpref, cg, dcg"
        with pytest.raises(ValueError, match=message):
            get_metric("mine")
    with pytest.raises(ValueError, match="id you mean 'r_precision@5'"):
        get_metric("rprec@5")


@every_kernel
def test_a_metric_compares_hashes_and_pickles(case):
    make = CASES[case][0]
    metric = make(5, ties="average")
    assert metric == make(5, ties="average")
    assert hash(metric) == hash(make(5, ties="average"))
    assert metric != make(6, ties="average")
    assert pickle.loads(pickle.dumps(metric)) == metric
    assert len({NDCG(gain=np.array([0, 1, 3])), NDCG(gain=(0.0, 1.0, 3.0))}) == 1
    assert repr(make(np.int64(3), ties="stable")).startswith(
        f"{type(metric).__name__}(k=3, ties='stable'"
    )


class OfBest(Metric):
    """A metric with an `__init__` of its own, which sets what it likes."""

    def __init__(self, n, table=(1.0,), **options):
        super().__init__(**options)
        self.n, self.table = n, np.array(table)

    def value(self, ranked_grades):
        return float(ranked_grades[: self.n].max() == ranked_grades.max())


class Bare(Metric):
    """One that does not call the `__init__` of its base."""

    def __init__(self, n):
        self.n = n

    value = OfBest.value


class Weighted(NDCG):
    """One of a built-in metric."""

    def __init__(self, n):
        super().__init__(10)
        self.n = n


@pytest.mark.parametrize("make", [OfBest, Bare, Weighted])
def test_a_metric_with_an_init_of_its_own_is_its_attributes(make):
    two, five = make(2), make(5)
    assert two == make(2) and two != five and two != "two"
    assert hash(two) == hash(make(2)) and len({two, make(2), five}) == 2
    assert "n=2" in repr(two) and "n=5" in repr(five)
    for again in (pickle.loads(pickle.dumps(two)), copy.deepcopy(two)):
        assert again == two and again.n == 2
    deeper = two._with(k=3)
    assert deeper.k == 3 and deeper.n == 2 and two.k != 3
    with pytest.raises(ValueError, match="k must be an integer >= 1"):
        two._with(k=0)
    y, groups = np.array([2, 0, 1, 0, 1, 2]), np.array([0, 0, 0, 1, 1, 1])
    ranker = LambdaMARTRanker(two, n_estimators=1, scoring=[two, five])
    ranker.fit(np.c_[y], y, groups=groups, X_val=np.c_[y], y_val=y, groups_val=groups)
    assert len(ranker.evals_result_["validation"]) == 2
    assert clone(ranker).metric == two


def test_attributes_that_are_arrays_are_compared_by_their_values():
    assert OfBest(2, table=[1, 2]) == OfBest(2, table=[1, 2])
    assert OfBest(2, table=[1, 2]) != OfBest(2, table=[1, 3])
    assert OfBest(2, table=[1, 2]) != OfBest(2, table=[1, 2, 3])
    assert OfBest(2, k=3) != OfBest(2)


#: A value of each parameter that not all metrics have, and not its default.
OPTIONS = {
    "gain": "linear",
    "discount": "letor",
    "short_lists": "zero",
    "relevant_from": 2,
    "max_grade": 4,
    "persistence": 0.5,
    "divide_by": "at_most_k",
}


@pytest.mark.parametrize("name", METRICS)
def test_a_function_is_its_object_called(name):
    function, metric = getattr(metrics, f"{name}_score"), METRICS[name]
    rng = np.random.default_rng(0)
    y, scores, groups = rng.integers(0, 4, (3, 60))
    given = {
        "sample_weight": 1.0 + groups,
        "y_missing": [2, 0],
        "groups_missing": [0, 1],
    }
    rules = {"k": 3, "ties": "average", "no_relevant": "one"}
    own = {field.name for field in fields(metric)} - rules.keys()
    rules |= {option: OPTIONS[option] for option in own}
    taken = set(inspect.signature(function).parameters)
    assert taken == {"y_true", "y_score", "groups", *given, *rules}
    with pytest.raises(TypeError, match="groups"):
        function(y, scores)
    for given_rules in (rules, {}):
        actual = function(y, scores, groups=groups, **given, **given_rules)
        assert actual == metric(**given_rules)(y, scores, groups=groups, **given)


# --- metrics whose parts must agree ------------------------------------------------


class NDCGOfHalves(NDCG):
    """As a metric of the package would be written: half of a list counts."""

    __module__ = "sklearn_ltr.metrics"

    def value(self, ranked_grades):
        return NDCG((len(ranked_grades) + 1) // 2).value(ranked_grades)

    def _limits(self, judged):
        return (judged.n_ranked + 1) // 2


def swap_by_swap(metric):
    """The metric as a user's, every swap tried out."""
    value = {"value": lambda _, ranked: metric.value(ranked)}
    return type("SwapBySwap", (Metric,), value)()


def test_a_cutoff_of_each_query_counts_in_values_and_swap_deltas():
    metric = NDCGOfHalves()
    for ranked in SMALL_LISTS:
        rows = {"y_score": -np.arange(len(ranked)), "groups": [0] * len(ranked)}
        value = metric.value(np.array(ranked)) if any(ranked) else 0.0
        assert metric(ranked, **rows) == pytest.approx(value, abs=1e-14)
        delta = metric.swap_delta(np.array(ranked))
        expected = swap_by_swap(metric).swap_delta(np.array(ranked))
        np.testing.assert_allclose(delta, expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    "metric",
    [
        NDCGOfHalves(),
        RPrecision(),
        MAP(3, divide_by="at_most_k"),
        Recall(3, divide_by="at_most_k"),
    ],
)
def test_what_depends_on_the_query_counts_in_training_and_in_sweeps(metric):
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(30), rng.integers(1, 12, 30))
    y = np.maximum(rng.integers(-2, 4, len(groups)), 0)
    scores, others = rng.normal(size=(2, len(groups)))
    both = metric, swap_by_swap(metric)
    (found, expected) = (compute_lambdas(scores, y, m, groups=groups) for m in both)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    found, expected = (
        best_blend(scores, others, y, groups=groups, metric=m) for m in both
    )
    np.testing.assert_array_equal(found.change_points, expected.change_points)
    np.testing.assert_allclose(found.values, expected.values, rtol=0, atol=1e-12)


@pytest.mark.parametrize("part", ["value", "_limits"])
def test_a_user_cannot_change_one_part_of_a_built_in_metric(part):
    with pytest.raises(TypeError, match=f"redefines {part}.*Metric"):
        type("Half", (NDCG,), {part: lambda self, given: 0.0})


@pytest.mark.parametrize(
    ("base", "part", "message"),
    [
        (MAP, "_limits", "which its inherited kernels ignore"),
        (ERR, "_limits", "which its inherited kernels ignore"),
        (BPref, "_limits", "which its inherited kernels ignore"),
        (NDCG, "_values_kernel", "_values_kernel, but no _swap_factors_kernel"),
    ],
)
def test_a_metric_of_the_package_whose_parts_would_disagree_is_refused(
    base, part, message
):
    with pytest.raises(TypeError, match=message):
        type("Half", (base,), {"__module__": "sklearn_ltr.metrics", part: None})


@pytest.mark.parametrize("name", METRICS)
def test_of_a_part_of_the_data_only_err_needs_the_largest_grade_of_all(name):
    metric = METRICS[name](5)
    changed = ERR(5, max_grade=4.0) if name == "err" else metric
    assert metric.with_largest_grade(4.0) == changed
    assert ERR(max_grade=3).with_largest_grade(4.0) == ERR(max_grade=3)
    with pytest.raises(ValueError, match="max_grade=53, but query 'a' has grade 60"):
        ERR().with_largest_grade(60.0)([60], [0], groups=["a"])


@given(rankings(max_documents=30))
def test_a_rank_is_one_more_than_the_number_of_documents_above(drawn: Ranking):
    ranks = rank_scores(drawn.scores, groups=drawn.groups)
    assert ranks.dtype == np.int64
    for group in np.unique(drawn.groups):
        rows = np.flatnonzero(drawn.groups == group)
        order = oracle.ranked_in_row_order(drawn.scores[rows].tolist())
        assert ranks[rows[order]].tolist() == list(range(1, len(rows) + 1))


@pytest.mark.parametrize("name", METRICS)
def test_only_a_metric_with_a_discount_is_trained_at_a_deeper_cutoff(name):
    falls = name in {"dcg", "ndcg", "map", "mrr", "err", "rbp"}
    metric = METRICS[name]
    assert metric(5).at_deeper_cutoff(30) == metric(30 if falls else 5)
    assert metric(5).at_deeper_cutoff(3) == metric(5).at_deeper_cutoff(None)
    assert metric(5).at_deeper_cutoff(3) == metric(5)
    assert metric().at_deeper_cutoff(30) == metric()


# --- arguments of other libraries -----------------------------------------------------


@pytest.mark.parametrize("metric", METRICS.values())
def test_constructors_explain_arguments_that_they_do_not_have(metric):
    name = metric.__name__
    for word in ("at", "n", "topk", "cutoff"):
        with pytest.raises(
            TypeError, match=rf"^{name}\(\) has no argument '{word}': give k"
        ):
            metric(**{word: 10})
    with pytest.raises(TypeError, match="'no_relevnat': did you mean no_relevant"):
        metric(no_relevnat="one")
    with pytest.raises(TypeError, match=r"takes k by position; .* go to the call"):
        metric([1], [2], groups=[1])
    with pytest.raises(TypeError, match="'groups': it goes to the call"):
        metric(groups=[1])


@pytest.mark.parametrize("metric", METRICS.values())
def test_explaining_constructors_stay_those_of_dataclasses(metric):
    names = [field.name for field in dataclasses.fields(metric)]
    assert list(inspect.signature(metric).parameters) == names
    made = metric(3, ties="stable")
    assert clone(made, safe=False) == made == pickle.loads(pickle.dumps(made))
    assert dataclasses.replace(made, k=2) == metric(2, ties="stable")


@pytest.mark.parametrize("make", [MAP, MRR, BPref, Precision, Recall, RPrecision])
def test_a_metric_that_takes_all_grades_for_relevant_says_so(make):
    y, scores, groups = [1, 5, 3, 2, 1, 4], np.arange(6.0), [1, 1, 1, 2, 2, 2]
    message = (
        r"every document is relevant \(the grades are 1 to 5\): give relevant_from"
    )
    score = getattr(metrics, f"{make.short_name}_score")
    for call in (make(), make().per_query, score):
        with pytest.warns(UserWarning, match=message):
            call(y, scores, groups=groups)
    ranker = LambdaMARTRanker(n_estimators=1, min_samples_leaf=1, random_state=0)
    ranker.fit(scores[:, None], y, groups=groups)
    with pytest.warns(UserWarning, match=message):
        make_ranking_scorer(make())(ranker, scores[:, None], y, groups=groups)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make(relevant_from=4)(y, scores, groups=groups)
        make()(np.array(y) - 1, scores, groups=groups)
        make()(np.ones(6), scores, groups=groups)
        make()(y, scores, groups=np.zeros(6))
        make()(y, scores, groups=groups, y_missing=[0], groups_missing=[1])
