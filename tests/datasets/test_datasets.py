"""Reading files of LETOR, and the properties of synthetic data."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.ensemble import ExtraTreesRegressor

from sklearn_ltr.datasets import load_letor
from sklearn_ltr.datasets import make_ranking as make
from sklearn_ltr.metrics import ndcg_score

LETOR = "2 qid:7 1:0.5 3:1 #docid = GX1-2 inc = 1\n0 qid:7 2:4\n1 qid:3 1:1 # x\n"


# load_letor


@pytest.mark.parametrize(("name", "opened"), [("a.txt", open), ("a.gz", gzip.open)])
def test_a_letor_file_is_read_plain_and_compressed(tmp_path, name, opened):
    with opened(tmp_path / name, "wt") as file:
        file.write(LETOR)
    letor = load_letor(tmp_path / name)
    assert letor.data.tolist() == [[0.5, 0, 1], [0, 4, 0], [1, 0, 0]]
    assert letor.data.dtype == np.float64
    assert letor.target.tolist() == [2, 0, 1]
    assert letor.groups.tolist() == [7, 7, 3]
    letor = load_letor(str(tmp_path / name), n_features=5, dtype=np.float32)
    assert (letor.data.shape, letor.data.dtype) == ((3, 5), np.float32)


LINES = {
    "LETOR": "2 qid:10032 1:0.056537 46:0.076923 #docid = GX029-35 inc = 0.01 prob = 1",
    "MSLR-WEB": "2 qid:1 1:3 2:0.5 46:0 ",
    "Yahoo": "2 qid:1 10:0.89028 46:0.1",
    # missing values are the largest number
    "Istella": f"2 qid:1 1:1 46:{np.finfo(np.float64).max:f} ",
}


@pytest.mark.parametrize("name", LINES)
def test_lines_of_the_known_collections_are_read(tmp_path, name):
    path = tmp_path / "train.txt"
    path.write_text(f"{LINES[name]}\n{LINES[name]}\n")
    letor = load_letor(path)
    assert letor.data.shape == (2, 46)
    assert np.isfinite(letor.data).all()
    assert letor.target.tolist() == [2, 2]


@pytest.mark.parametrize(
    ("comment", "name"),
    [
        ("docid = GX000-00 inc = 1 prob = .1", "GX000-00"),  # LETOR
        ("1A", "1A"),  # SVM-rank
        ("7555 rambo", "7555"),
        ("http://a.b/c?d=e", "http://a.b/c?d=e"),
        ("inc = 1 DOCID=X", "X"),
        ("docno: AP-1", "AP-1"),
        ("inc = 1", "1"),
        ("docid = ", "1"),
        ("", "1"),
    ],
)
@pytest.mark.parametrize("space", ["", " ", "\t"])
def test_what_is_behind_a_number_sign_names_the_document(
    tmp_path, comment, name, space
):
    (tmp_path / "f").write_text(f"1 qid:1 1:1 #{space}{comment}\n0 qid:1 1:2\n")
    assert load_letor(tmp_path / "f").documents.tolist() == [name, "2"]


def test_words_that_a_query_has_twice_name_no_documents(tmp_path):
    path = tmp_path / "f"
    path.write_text("1 qid:1 1:1 # a b\n1 qid:2 1:1 # a b\n")
    assert load_letor(path).documents.tolist() == ["a", "a"]
    path.write_text("1 qid:1 1:1 # a b\n1 qid:1 1:1 # a b\n")
    assert load_letor(path).documents.tolist() == ["1", "2"]
    path.write_text("1 qid:1 1:1 # docid = a\n1 qid:1 1:1 # docid = a\n")
    assert load_letor(path).documents.tolist() == ["a", "a"]
    path.write_bytes("1 qid:1 1:1 # \xe9\n".encode("latin-1"))
    assert len(load_letor(path).documents) == 1


@pytest.mark.parametrize("zero_based", [True, False, "auto"])
def test_features_may_have_any_order(tmp_path, zero_based):
    first = 0 if zero_based else 1
    ascending = f"2 qid:4 {first}:0.5 3:7 12:1\n1 qid:4 2:1\n0 qid:5 2:1.5 9:2\n"
    mixed = f"2 qid:4 12:1 {first}:0.5 3:7\n1 qid:4 2:1\n0 qid:5 9:2 2:1.5\n"
    found = []
    for text in (ascending, mixed):
        (tmp_path / "f").write_text(text)
        found.append(load_letor(tmp_path / "f", zero_based=zero_based, n_features=15))
    for name in ("data", "target", "groups", "documents"):
        np.testing.assert_array_equal(found[0][name], found[1][name])
    assert found[0].zero_based == found[1].zero_based


@pytest.mark.parametrize("sizes", ["2\n1\n", "2\n\n1\n\n", "2 1", "2.0\r\n1 # q\r\n"])
def test_sizes_of_queries_may_be_in_a_second_file(tmp_path, sizes):
    path = tmp_path / "train"
    path.write_text("2 1:0.5 3:1 # a\n0\n# b\n1 2:4 1:1 # c\n")
    (tmp_path / "train.query").write_text(sizes)
    letor = load_letor(path, sizes=tmp_path / "train.query")
    assert letor.data.tolist() == [[0.5, 0, 1], [0, 0, 0], [1, 4, 0]]
    assert letor.target.tolist() == [2, 0, 1]
    assert letor.groups.tolist() == [0, 0, 1]
    assert letor.documents.tolist() == ["a", "2", "c"]


@pytest.mark.parametrize(
    ("text", "sizes", "message"),
    [
        ("1 1:2\n", "2\n", "sizes: .*s' has 1 queries of 2 documents, but .*f' has"),
        ("1 1:2\n", "", "s' has 0 queries of 0 documents, but"),
        ("1 1:2\n", "1\nx", "sizes: .*s', line 2: 'x' is no size: give the number of"),
        ("1 1:2\n", "-1", "line 1: '-1' is no size"),
        ("1 1:2\n", "[1]", "line 1: this is JSON|line 1: .* is no size"),
        ("1 qid:1 1:2\n", "1", "path: .*f', line 1: 'qid:1' names the query: leave"),
        ("1 1:2 1:3\n", "1", "path: .*f', line 1: feature 1 is there twice"),
        ("x 1:2\n", "1", "path: .*f', line 1: the grade is not a number"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(tmp_path, text, sizes, message):
    (tmp_path / "f").write_text(text)
    (tmp_path / "s").write_text(sizes)
    with pytest.raises(ValueError, match=message):
        load_letor(tmp_path / "f", sizes=tmp_path / "s")


# make_ranking


def test_the_seed_determines_the_data_whatever_the_dtype():
    once, again, other = (
        make(random_state=seed, dtype=dtype)
        for seed, dtype in ((3, np.float64), (3, np.float32), (4, np.float64))
    )
    assert (once.data.dtype, again.data.dtype) == (np.float64, np.float32)
    for name in once:  # generated in float32
        np.testing.assert_array_equal(once[name], again[name])
    assert not np.array_equal(once.target, other.target)


def test_the_number_of_rows_is_exact_and_sizes_have_a_heavy_tail():
    ranking = make(500, n_documents=12.34, random_state=0)
    sizes = np.bincount(ranking.groups)
    assert (len(ranking.data), len(sizes)) == (6170, 500)
    assert sizes.min() >= 1
    # lognormal: the largest of 500 with sigma = 0.7 are about e^(3 * 0.7) = 8 medians
    assert sizes.max() > 4 * np.median(sizes)
    assert np.all(np.diff(ranking.groups) >= 0)
    assert make(7, n_documents=1).groups.tolist() == list(range(7))


def test_without_noise_the_utility_never_contradicts_a_grade():
    ranking = make(60, noise=0.0, random_state=0)
    for query in range(60):
        rows = ranking.groups == query
        best_first = np.argsort(-ranking.utility[rows])
        assert np.all(np.diff(ranking.target[rows][best_first]) <= 0)


def test_grades_have_the_requested_shares():
    shares = (0.6, 0.3, 0.1)
    ranking = make(200, grade_shares=shares, random_state=0)
    got = np.bincount(ranking.target) / len(ranking.target)
    # Quantiles of distinct values: exact but for one row at each threshold.
    np.testing.assert_allclose(got, shares, atol=1.5 / len(ranking.target))


def test_ndcg_of_learned_scores_is_between_chance_and_the_utility():
    ranking = make(200, random_state=0)
    seen, unseen = ranking.groups < 140, ranking.groups >= 140
    trees = ExtraTreesRegressor(10, min_samples_leaf=5, random_state=0)
    trees.fit(ranking.data[seen], ranking.target[seen])

    def quality(scores):
        y, groups = ranking.target[unseen], ranking.groups[unseen]
        return ndcg_score(y, scores[unseen], groups=groups, k=10, no_relevant="skip")

    chance = quality(np.random.default_rng(0).random(len(ranking.target)))
    learned, best = quality(trees.predict(ranking.data)), quality(ranking.utility)
    # Over six seeds: 0.45 to 0.52, 0.85 to 0.88, and 0.91 to 0.92.
    assert chance + 0.2 < learned < best - 0.02


def test_only_query_features_are_constant_within_queries():
    ranking = make(30, n_query_features=3, random_state=0)
    constant = np.ones(ranking.data.shape[1], dtype=bool)
    for query in range(30):
        constant &= np.ptp(ranking.data[ranking.groups == query], axis=0) == 0
    assert np.flatnonzero(constant).tolist() == sorted(ranking.query_features)
    assert set(ranking.informative).isdisjoint(ranking.query_features)


def test_features_have_zeros_integers_and_heavy_tails_as_requested():
    options = {"n_query_features": 0, "random_state": 0}
    # what is below 1/2 of a normal distribution; the values of a query are alike
    zeros = np.mean(make(zeros=1.0, **options).data == 0)
    assert zeros == pytest.approx(norm.cdf(0.5), abs=0.03)
    integers = make(integers=1.0, **options).data
    np.testing.assert_array_equal(integers, np.rint(integers))
    tails = make(heavy_tails=1.0, **options).data
    # e^(1.5 z) - 1 is never below -1, and above 5 where z > 1.2
    assert np.all(tails.max(axis=0) > 5 * np.abs(tails.min(axis=0)))
    plain = make(**options).data
    assert np.isfinite(plain).all()
    assert not np.any(plain == 0)


def test_values_are_missing_except_in_query_features():
    ranking = make(missing=0.2, random_state=0)
    of_query = np.isin(np.arange(20), ranking.query_features)
    absent = np.isnan(ranking.data)
    assert not absent[:, of_query].any()
    # 36,000 values: four standard errors are 0.0085.
    assert absent[:, ~of_query].mean() == pytest.approx(0.2, abs=0.0085)


NAMED = "# feature 1 = bm25\n# feature 2 = a b  c\n# qid:1: hat\n"


def test_comments_name_the_features(tmp_path):
    path = tmp_path / "f"
    path.write_text(NAMED + "2 qid:1 1:0.5 # a\n0 qid:1 1:1\n")
    read = load_letor(path)  # no line lists feature 2
    np.testing.assert_array_equal(read.data, [[0.5, 0], [1, 0]])
    assert read.data.feature_names.tolist() == ["bm25", "a b  c"]
    assert read.data.dtype == np.float64
    half = load_letor(path, dtype=np.float32, n_features=2)
    assert (half.data.dtype, half.data.shape) == (np.float32, (2, 2))
    path.write_text(NAMED.replace("1 =", "0 =").replace("2 =", "1 =") + "2 qid:1 1:3\n")
    read = load_letor(path, zero_based=True)
    assert (read.data.tolist(), read.data.feature_names[1]) == ([[0, 3]], "a b  c")
    path.write_text(NAMED + NAMED + "2 qid:1 1:0.5\n" + NAMED)  # as of joined files
    assert load_letor(path).data.feature_names.tolist() == ["bm25", "a b  c"]
    path.write_text("# features 1 = x, feature 1 = y\n2 qid:1 1:0.5\n")
    assert type(load_letor(path).data) is np.ndarray


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (NAMED + "1 qid:1 3:1\n", {}, "'f' has features 1 to 3, and comments name 1"),
        (NAMED + "1 qid:1 1:1\n", {"n_features": 3}, "features 1 to 3, and"),
        (NAMED + "1 qid:1 1:1\n", {"n_features": 1}, "features 1 to 1, and"),
        (NAMED + "1 qid:1 0:1\n", {"zero_based": True}, "features 0 to 0, and"),
        (NAMED.replace("2 =", "3 =") + "1 qid:1 1:1\n", {}, "and comments name 1, 3: "),
        (NAMED.replace("2 =", "99999999999 =") + "1 qid:1 1:1\n", {}, "name 1, 9999"),
        (NAMED + "1 qid:1 1:1\n# feature 1 = tf\n", {},
         "line 5: '# feature 1 = tf' names another than 'bm25' before: take one out"),
        (NAMED + "# feature 3 = \xe9\n1 qid:1 1:1\n", {}, "line 4: '\\xe9' is not in"),
    ],
)  # fmt: skip
def test_names_of_features_that_do_not_fit_are_refused(
    tmp_path, text, options, message
):
    (tmp_path / "f").write_bytes(text.encode("latin-1"))
    with pytest.raises(ValueError, match=r"path: .*f'") as caught:
        load_letor(tmp_path / "f", **options)
    assert message.replace("'f'", "f'") in str(caught.value)
