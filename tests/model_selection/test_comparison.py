"""Rankers compared: beside scipy's tests, by enumeration, and by repetition."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline

from sklearn_ltr import LambdaMARTRanker
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.metrics import MAP, NDCG
from sklearn_ltr.model_selection import RankerSearch, compare_rankers
from sklearn_ltr.model_selection._comparison import (
    bootstrap_intervals,
    compare_values,
    holm,
    permutation_p_values,
)

RNG = np.random.default_rng(0)
N = 300
GROUPS = np.repeat(np.arange(N), 8)
Y = RNG.choice([0, 0, 0, 1, 2], len(GROUPS))
SCORES = {
    name: signal * Y + RNG.normal(size=len(Y))
    for name, signal in (("weak", 0.4), ("middle", 0.5), ("strong", 1.2))
}


def compare(scores=SCORES, **options):
    return compare_rankers(scores, None, Y, groups=GROUPS, **options)


def ndcg(name):
    return NDCG(10).per_query(Y, SCORES[name], groups=GROUPS)


def test_means_intervals_and_p_values_are_near_those_of_the_t_test():
    comparison = compare()
    assert comparison.n_queries == N
    assert comparison.metric_name == "ndcg@10"
    assert [(pair.a, pair.b) for pair in comparison.pairs] == [
        ("weak", "middle"), ("weak", "strong"), ("middle", "strong"),
    ]  # fmt: skip
    for pair in comparison.pairs:
        a, b = ndcg(pair.a), ndcg(pair.b)
        assert_allclose(comparison.means[pair.a], a.mean(), rtol=1e-12)
        assert_allclose(pair.mean_difference, (b - a).mean(), rtol=1e-9)
        assert_allclose(pair.standard_error, stats.sem(b - a), rtol=1e-9)
        expected = stats.ttest_rel(b, a)
        low, high = expected.confidence_interval(0.95)
        # 9,999 draws: an end of the interval varies by 2% of its length
        assert_allclose([pair.low, pair.high], [low, high], atol=0.05 * (high - low))
        assert_allclose(pair.p_value, expected.pvalue, atol=0.02)
    assert comparison.pairs[1].p_value < 0.001 < comparison.pairs[0].p_value
    assert compare().pairs == comparison.pairs
    assert compare(random_state=1).pairs != comparison.pairs


@pytest.mark.parametrize("weights", [np.ones(7), np.array([1, 2, 3, 4, 5, 6, 7.0])])
def test_p_values_of_few_queries_are_those_of_all_signs(weights):
    d = RNG.normal(0.5, size=(2, 7)).round(1)  # some sums are equal
    found = permutation_p_values(d, weights, 9999, 0)
    for row, p in zip(d * weights, found, strict=True):
        sums = np.array([np.dot(signs, row) for signs in product((1, -1), repeat=7)])
        below = np.mean(sums <= row.sum() + 1e-9)
        above = np.mean(sums >= row.sum() - 1e-9)
        assert_allclose(p, min(1, 2 * min(below, above)))


def test_without_a_difference_p_values_are_uniform_and_intervals_hold_zero():
    # most rankers agree on many queries, and differ much on a few
    shape = (1000, 40)
    d = RNG.normal(size=shape) * RNG.random(shape) * (RNG.random(shape) < 0.7)
    p_values = permutation_p_values(d, np.ones(40), 999, 0)
    assert stats.kstest(p_values, "uniform").pvalue > 0.01
    low, high = bootstrap_intervals(d, np.ones(40), 0.95, 999, 0)
    assert 0.92 <= np.mean((low <= 0) & (high >= 0)) <= 0.98


@pytest.mark.parametrize("n", [2, 3, 4])
def test_intervals_of_few_queries_are_those_of_the_t_test(n):
    # the bootstrap alone covers 52, 75 and 87%
    options = {"difference": 0.01, "confidence_level": 0.9, "n_resamples": 100}
    values = {"a": RNG.random(n), "b": RNG.random(n)}
    (pair,) = compare_values(
        values, np.ones(n), "own", **options, rng=np.random.RandomState(0)
    ).pairs
    expected = stats.ttest_rel(values["b"], values["a"]).confidence_interval(0.9)
    assert_allclose([pair.low, pair.high], expected)
    assert pair.p_value >= 2.0 ** (1 - n)


def test_the_p_value_is_twice_the_smaller_fraction_of_random_signs():
    d, n_resamples = RNG.normal(0.05, size=(1, 40)), 999
    (p,) = permutation_p_values(d, np.ones(40), n_resamples, 0)
    counts = p / 2 * (n_resamples + 1)
    assert_allclose(counts, np.rint(counts))
    (smallest,) = permutation_p_values(np.ones((1, 40)), np.ones(40), n_resamples, 0)
    assert smallest == 2 / (n_resamples + 1)


def test_the_queries_needed_show_the_difference_with_the_power_of_80_percent():
    (pair,) = compare({name: SCORES[name] for name in ("weak", "middle")}).pairs
    sd = np.std(ndcg("middle") - ndcg("weak"), ddof=1)
    expected = ((stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) * sd / 0.01) ** 2
    assert pair.n_needed == np.ceil(expected)
    (other,) = compare([SCORES["weak"], SCORES["middle"]], difference=0.1).pairs
    assert other.n_needed == np.ceil(expected / 100)
    # drawn from a distribution of this difference, 80% of the tests find it
    drawn = RNG.normal(0.1, sd, size=(2000, other.n_needed))
    power = np.mean(stats.ttest_1samp(drawn, 0, axis=1).pvalue < 0.05)
    assert 0.77 <= power <= 0.83


def test_holms_correction_is_that_of_the_definition():
    p = np.array([0.04, 0.01, 0.5, 0.03])
    assert_allclose(holm(p), [0.09, 0.04, 0.5, 0.09])
    assert_array_equal(holm(np.array([0.6, 0.7])), [1, 1])
    comparison = compare()
    found = [pair.adjusted_p_value for pair in comparison.pairs]
    assert_array_equal(holm(np.array([p.p_value for p in comparison.pairs])), found)


def test_queries_that_the_metric_leaves_out_or_that_weigh_nothing_do_not_count():
    relevant = np.array([Y[GROUPS == query].any() for query in range(N)])
    skipping = compare(metric=NDCG(10, no_relevant="skip"))
    assert skipping.n_queries == relevant.sum() < N
    rows = relevant[GROUPS]
    expected = compare_rankers(
        {name: scores[rows] for name, scores in SCORES.items()},
        None, Y[rows], groups=GROUPS[rows],
    )  # fmt: skip
    assert skipping.pairs == expected.pairs
    assert skipping.means == expected.means
    of_weight = compare(sample_weight=3.0 * rows)
    for pair, other in zip(of_weight.pairs, expected.pairs, strict=True):
        assert_allclose(pair[2:], other[2:])


def test_weights_change_means_errors_and_intervals():
    weights = RNG.integers(1, 5, N).astype(float)
    comparison = compare(sample_weight=weights[GROUPS])
    w = weights / weights.sum()
    for pair in comparison.pairs:
        d = ndcg(pair.b) - ndcg(pair.a)
        mean = w @ d
        error = np.sqrt(N / (N - 1) * sum(w**2 * (d - mean) ** 2))
        assert_allclose(pair.mean_difference, mean, rtol=1e-9)
        assert_allclose(pair.standard_error, error, rtol=1e-9)
        expected = mean + 1.96 * error * np.array([-1, 1])
        assert_allclose([pair.low, pair.high], expected, atol=0.1 * error)
        z = 1.959964 + 0.841621
        assert_allclose(pair.n_needed, N * (z * error / 0.01) ** 2, rtol=1e-3)


@pytest.mark.parametrize(
    ("weights", "found"),
    [
        ([1e-200] * 299 + [1], "300 queries count like 1 of equal weight (one has 100"),
        ([1, 1] + [1e-9] * 98, "100 queries count like 2 of equal weight (one has 50"),
        ([100] + [1] * 9, "10 queries count like 1.2 of equal weight (one has 91.7"),
        ([1, 10], "2 queries count like 1.2 of equal weight (one has 90.9"),
    ],
)
def test_weights_that_outweigh_all_others_are_told_of(weights, found):
    rows = len(weights) > GROUPS
    with pytest.warns(UserWarning, match=re.escape(f"so unequal that {found}")):
        compare_rankers(
            [scores[rows] for scores in SCORES.values()], None, Y[rows],
            groups=GROUPS[rows], sample_weight=np.array(weights)[GROUPS[rows]],
            n_resamples=100,
        )  # fmt: skip


@pytest.mark.parametrize("exponent", [-900, 900])
def test_values_of_any_size_are_compared(exponent):
    values = {"a": RNG.random(30), "b": RNG.random(30)}
    options = {
        "difference": 0.01, "confidence_level": 0.95, "n_resamples": 500,
    }  # fmt: skip

    def pair(values, weights, difference=0.01):
        return compare_values(
            values, weights, "own", **options | {"difference": difference},
            rng=np.random.RandomState(0),
        ).pairs[0]  # fmt: skip

    expected = pair(values, np.ones(30))
    assert pair(values, np.ldexp(np.ones(30), exponent)) == expected
    scaled = {name: np.ldexp(column, exponent) for name, column in values.items()}
    found = pair(scaled, np.ones(30), difference=np.ldexp(0.01, exponent))
    assert found.p_value == expected.p_value
    assert found.n_needed == expected.n_needed
    assert_allclose(np.ldexp(found[2:6], -exponent), expected[2:6], rtol=1e-12)


def test_rankers_that_rank_alike_do_not_differ():
    (pair,) = compare([SCORES["weak"], 2 * SCORES["weak"]]).pairs
    assert pair[2:] == (0, 0, 0, 0, 1, 1, 0)
    assert (pair.a, pair.b) == ("Ranker 1", "Ranker 2")


def test_fitted_rankers_and_scores_are_compared_by_name():
    X = np.column_stack([*SCORES.values(), RNG.random(len(Y))])
    train, test = GROUPS < 200, GROUPS >= 200
    trees, more = (
        LambdaMARTRanker(n_estimators=n, random_state=0).fit(
            X[train], Y[train], groups=GROUPS[train]
        )
        for n in (1, 20)
    )
    data = {"y": Y[test], "groups": GROUPS[test]}
    scores = SCORES["strong"][test]
    comparison = compare_rankers([trees, scores, more], X[test], metric="map", **data)
    names = ["LambdaMARTRanker 1", "Ranker", "LambdaMARTRanker 2"]
    assert list(comparison.means) == names
    for name, column in zip(
        names, (trees.predict(X[test]), scores, more.predict(X[test])), strict=True
    ):
        expected = MAP()(Y[test], column, groups=GROUPS[test])
        assert_allclose(comparison.means[name], expected, rtol=1e-12)
    by_name = compare_rankers(
        {"one": trees, "twenty": more}, X[test], metric="map", **data
    )
    assert list(by_name.means) == ["one", "twenty"]
    assert by_name.pairs[0].mean_difference == comparison.pairs[1].mean_difference


def test_with_a_baseline_only_the_differences_from_it_are_compared():
    every = {
        (p.a, p.b): p for p in compare_rankers(SCORES, None, Y, groups=GROUPS).pairs
    }
    for baseline in SCORES:
        found = compare_rankers(SCORES, None, Y, groups=GROUPS, baseline=baseline)
        assert [(p.a, p.b) for p in found.pairs] == [
            (baseline, other) for other in SCORES if other != baseline
        ]
        for pair in found.pairs:
            same, sign = every.get((pair.a, pair.b)), 1
            if same is None:
                same, sign = every[pair.b, pair.a], -1
            assert pair.mean_difference == sign * same.mean_difference
            assert pair.p_value == pytest.approx(same.p_value, abs=0.01)
            assert pair.adjusted_p_value <= same.adjusted_p_value + 0.01
    with pytest.raises(
        ValueError, match=r"baseline must be the name of a ranker, \['we"
    ):
        compare_rankers(SCORES, None, Y, groups=GROUPS, baseline="none")


def test_the_table_has_the_numbers():
    comparison = compare(confidence_level=0.9, difference=0.02)
    title, *means, empty, head, first, _, last = repr(comparison).splitlines()
    assert re.split("  +", title) == ["ndcg@10, 300 queries", "mean"]
    assert [line.split() for line in means] == [
        [name, f"{mean:.4f}"] for name, mean in comparison.means.items()
    ]
    assert empty == ""
    assert re.split("  +", head) == [
        "difference", "mean", "90% interval", "p", "p (Holm)", "queries for 0.02",
    ]  # fmt: skip
    pair = comparison.pairs[0]
    assert re.split("  +", first) == [
        "middle - weak", f"{pair.mean_difference:+.4f}",
        f"{pair.low:+.4f} to {pair.high:+.4f}", f"{pair.p_value:.4f}",
        f"{pair.adjusted_p_value:.4f}", f"{pair.n_needed:,}",
    ]  # fmt: skip
    assert last.startswith("strong - middle ")
    assert len({len(line) for line in (head, first, last)}) == 1


def test_a_comparison_says_what_it_does_not_know_of_searches_and_of_these_only():
    data = make_ranking(30, random_state=0)
    options = {"groups": data.groups}
    ranker = LambdaMARTRanker(n_estimators=2, random_state=0)
    space = {"n_estimators": [1, 3]}
    few = {"n_iter": 2, "blend": False, "cv": 2, "random_state": 0}
    ours = RankerSearch(ranker, param_distributions=space, **few)
    with sklearn.config_context(enable_metadata_routing=True):
        # in a Pipeline, too
        theirs = make_pipeline(
            GridSearchCV(ranker.set_fit_request(groups=True), space, cv=GroupKFold(2))
        )
        fitted = {
            "plain": ranker.fit(data.data, data.target, **options),
            "ours": ours.fit(data.data, data.target, **options),
            "theirs": theirs.fit(data.data, data.target, **options),
        }
    both = compare_rankers(fitted, data.data, data.target, **options)
    assert both.searches == ["ours", "theirs"]
    assert repr(both).endswith("other folds\nor another seed may find others.")
    assert both._repr_html_().endswith("another seed may find others.</p>")
    scores = {name: one.predict(data.data) for name, one in fitted.items()}
    without = compare_rankers(scores, None, data.target, **options)
    assert without.searches == []
    assert f"{without}" + repr(both)[len(repr(without)) :] == repr(both)
    assert "seed" not in repr(without) + without._repr_html_()
