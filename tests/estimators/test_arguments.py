"""An argument that a method does not have is an error in our words.

Those of LightGBM, XGBoost and CatBoost are told what they are called here.
"""

from __future__ import annotations

import inspect
import pickle
import re
from copy import copy, deepcopy

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from sklearn_ltr import LambdaMARTRanker, LambdaRankRanker, RankNetRanker, clicks
from sklearn_ltr._core.estimators.arguments import METHODS
from sklearn_ltr._core.estimators.base import Estimator
from sklearn_ltr._core.other_libraries import OTHER_ATTRIBUTES, OTHER_NAMES
from sklearn_ltr.calibration import CalibratedRanker
from sklearn_ltr.dask import DaskLambdaMARTRanker
from sklearn_ltr.datasets import make_ranking
from sklearn_ltr.ensemble import BaggingRanker, BlendedRanker
from sklearn_ltr.mart import MARTClassifier, MARTRegressor
from sklearn_ltr.model_selection import RankerSearch
from sklearn_ltr.preprocessing import CategoryPairs, SmoothClipScaler, TableVectorizer
from sklearn_ltr.ray import RayLambdaMARTRanker
from tests import coming_from

DATA = make_ranking(12, n_features=4, n_informative=2, random_state=0)
X, Y, GROUPS = DATA.data, DATA.target, DATA.groups
SIZES = np.unique(GROUPS, return_counts=True)[1]
MEMBERS = [LambdaMARTRanker(n_estimators=2), RankNetRanker(max_iter=1)]
MART = (MARTClassifier, MARTRegressor)
ESTIMATORS = [
    LambdaMARTRanker, LambdaRankRanker, RankNetRanker, BaggingRanker, BlendedRanker,
    CalibratedRanker, RankerSearch,
    DaskLambdaMARTRanker, RayLambdaMARTRanker, CategoryPairs, SmoothClipScaler,
    TableVectorizer, *MART,
]  # fmt: skip
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS)


def make(estimator):
    return estimator(MEMBERS) if estimator is BlendedRanker else estimator()


def test_these_are_all_estimators_beside_those_of_clicks():
    def derived(cls):
        return {cls}.union(*map(derived, cls.__subclasses__()))

    ours = {c for c in derived(Estimator) if c.__module__.startswith("sklearn_ltr")}
    bases = {
        "Estimator", "BaseRanker", "MetaRanker", "NetworkRanker", "BaseMART",
        "ClickModel", "TreeEstimator", "ClusterRanker",
    }  # fmt: skip
    names = {cls.__name__ for cls in ours} - bases - set(clicks.__all__)
    assert names == {cls.__name__ for cls in ESTIMATORS}
    of_clicks = [cls for cls in ours if cls.__name__ in clicks.__all__]
    for cls in of_clicks:
        if not inspect.signature(cls).parameters:
            continue
        with pytest.raises(
            TypeError, match=rf"^{cls.__name__}\(\) has no argument 'a'"
        ):
            cls(a=1)
    assert len(of_clicks) > 2


@every_estimator
def test_words_of_others_are_told_what_they_are_called_here(estimator):
    signature = inspect.signature(estimator.fit).parameters
    parameters = inspect.signature(estimator).parameters
    for word, (ours, how) in OTHER_NAMES.items():
        name = estimator.__name__
        if word in signature or word in parameters:
            continue
        with pytest.raises(TypeError) as error:
            make(estimator).fit(X, Y, **{word: 1})
        message = str(error.value)
        assert message.startswith(f"{name}.fit() has no argument '{word}'")
        given = [w for w in ours.split() if w in signature]
        of_estimator = [f"{w}=..." for w in ours.split() if w in parameters]
        if given:
            assert f"give {', '.join(given)}" in message
        elif of_estimator:
            assert f"give {name}({', '.join(of_estimator)})" in message
        assert ours or f"'{word}': {how}" in message
        with pytest.raises(TypeError, match=rf"^{name}\(\) has no argument '{word}'"):
            estimator(**{word: 1})


def test_sizes_and_pairs_are_told_how_to_become_groups_and_validation_data():
    theirs = {"group": SIZES, "eval_set": [(X, Y)], "eval_metric": "ndcg"}
    with pytest.raises(TypeError) as error:
        LambdaMARTRanker().fit(X, Y, **theirs)
    sizes, pairs, metric, taken = str(error.value).splitlines()
    assert "groups, one value per row" in sizes
    sizes_to_ids = re.search(r"np\.repeat\(.*\)", sizes)[0]
    assert eval(sizes_to_ids, {"np": np, "sizes": SIZES}).tolist() == GROUPS.tolist()
    assert "give X_val, y_val, groups_val, the parts of a set" in pairs
    assert "give LambdaMARTRanker(scoring=...)" in metric
    assert taken.startswith("It takes X, y, groups, sample_weight, ")


def test_an_argument_given_to_the_wrong_one_is_sent_to_the_other():
    with pytest.raises(TypeError, match=r"'n_estimators': give LambdaMARTRanker\("):
        LambdaMARTRanker().fit(X, Y, groups=GROUPS, n_estimators=3)
    with pytest.raises(TypeError, match=r"'groups': give fit\(groups=\.\.\.\)"):
        LambdaMARTRanker(groups=GROUPS)
    with pytest.raises(TypeError, match=r"'colour'\nIt takes metric, "):
        LambdaMARTRanker(colour=3)
    ranker = LambdaMARTRanker(n_estimators=1).fit(X, Y, groups=GROUPS)
    with pytest.raises(TypeError, match=r"'groups': give rank\(groups=\.\.\.\)"):
        ranker.predict(X, groups=GROUPS)
    with pytest.raises(TypeError, match=r"'n_estimators': give max_iter"):
        RankNetRanker(n_estimators=3)
    message = "'metric': LambdaMARTRanker and LambdaRankRanker learn for a metric; scor"
    with pytest.raises(TypeError, match=message):
        RankNetRanker(metric="ndcg@10")
    with pytest.raises(TypeError, match=r"'metric': give LambdaMARTRanker\(metric=..."):
        LambdaMARTRanker().fit(X, Y, groups=GROUPS, metric="map")
    message = "'predict_proba': predict has the scores, and predict_relevance of"
    with pytest.raises(AttributeError, match=message):
        _ = CalibratedRanker(LambdaMARTRanker()).predict_proba
    assert hasattr(CalibratedRanker, "predict_relevance")


@every_estimator
def test_every_misspelt_argument_is_told_what_may_be_meant(estimator):
    name = estimator.__name__
    parameters = inspect.signature(estimator).parameters
    words = (word for word in parameters if len(word) > 8)
    for word in (word for word in words if word[:-1] not in OTHER_NAMES):
        misspelt = word[:-1]
        with pytest.raises(TypeError, match=rf"'{misspelt}': did you mean {word}\?"):
            estimator(**{misspelt: 1})
        with pytest.raises(ValueError, match=rf"'{misspelt}': did you mean {word}\?"):
            make(estimator).set_params(**{misspelt: 1})
    if "X_val" in inspect.signature(estimator.fit).parameters:
        with pytest.raises(TypeError, match=rf"^{name}.fit.*'X_valid': did .* X_val\?"):
            make(estimator).fit(X, Y, X_valid=X)


def test_set_params_has_the_words_of_the_constructor():
    ranker = LambdaMARTRanker()
    with pytest.raises(ValueError, match="Invalid parameter 'num_.*': give max_leaf_"):
        ranker.set_params(n_estimators=3, num_leaves=7)
    assert ranker.n_estimators == 100
    bag = BaggingRanker(LambdaMARTRanker()).set_params(estimator__n_estimators=3)
    assert bag.estimator.n_estimators == 3
    blend = BlendedRanker([("trees", LambdaMARTRanker()), ("other", RankNetRanker())])
    assert blend.set_params(trees__n_estimators=3).rankers[0][1].n_estimators == 3
    with pytest.raises(ValueError, match=r"^Invalid parameter 'n_trees': give n_est"):
        bag.set_params(estimator__n_trees=3)


# --- attributes -----------------------------------------------------------------------


@every_estimator
def test_attributes_of_others_are_told_what_they_are_called_here(estimator):
    model = make(estimator)
    there = {*dir(model), *dir(estimator), *estimator._attributes} - {
        name for name in OTHER_ATTRIBUTES if not hasattr(estimator, name)
    }
    assert not {*dir(model)} & (OTHER_ATTRIBUTES.keys() - there)
    assert "best_iteration_" not in model._repr_html_()
    for word, (ours, how) in OTHER_ATTRIBUTES.items():
        if word in there:
            continue
        assert not hasattr(model, word)
        assert getattr(model, word, "default") == "default"
        with pytest.raises(AttributeError) as error:
            getattr(model, word)
        said = str(error.value)
        if not ours:
            assert said == f"{estimator.__name__} has no attribute '{word}': {how}"
        elif ours in there:
            assert f"has no attribute '{word}': it is {ours} here" in said
        else:
            assert said == f"'{estimator.__name__}' object has no attribute '{word}'"


def test_the_names_that_attributes_are_told_exist():
    names = {ours for ours, _ in OTHER_ATTRIBUTES.values() if ours}
    there = {*dir(LambdaMARTRanker), *LambdaMARTRanker._attributes}
    assert names <= there | inspect.signature(LambdaMARTRanker).parameters.keys()


def test_missing_attributes_are_as_python_has_them():
    """Errors of properties stay, copies and pickles look for methods of their own."""
    ranker = LambdaMARTRanker(n_estimators=2)
    with pytest.raises(AttributeError, match="object has no attribute 'nothing'"):
        ranker.nothing  # noqa: B018
    with pytest.raises(NotFittedError, match="Call 'fit'"):
        ranker.feature_importances_  # noqa: B018
    ranker.fit(X, Y, groups=GROUPS)
    for copied in (copy(ranker), deepcopy(ranker), pickle.loads(pickle.dumps(ranker))):
        assert np.array_equal(copied.predict(X), ranker.predict(X))
    assert not hasattr(object.__new__(LambdaMARTRanker), "booster_")
    ranker.booster_ = 3
    assert ranker.booster_ == 3 and "booster_" in dir(ranker)

    class Own(LambdaMARTRanker):
        @property
        def booster_(self):
            return 4

    assert Own().booster_ == 4 and "booster_" in dir(Own())
    with pytest.raises(AttributeError, match="^Own has no attribute 'best_score_': it"):
        Own().best_score_  # noqa: B018


@pytest.mark.parametrize("page", ["lightgbm", "xgboost", "catboost"])
def test_every_attribute_of_the_tables_of_coming_from_is_known(page):
    frame = pytest.importorskip("pandas").DataFrame(X, columns=list("abcd"))
    ranker = LambdaMARTRanker(n_estimators=2).fit(frame, Y, groups=GROUPS)
    seen = 0
    for theirs, _, ours, _ in coming_from.rows(page):
        theirs = re.sub(r"`\w+\(\w+=.*?\)`", "", theirs)  # of one argument only
        words = re.findall(r"`(best_\w+|get_\w+|\w+_(?=`)|\w+(?=\())", theirs)
        for word in set(words) & {*OTHER_ATTRIBUTES}:
            name = OTHER_ATTRIBUTES[word][0]
            assert name in ours and hasattr(ranker, name or "fit"), (word, ours)
            seen += 1
    assert seen > 1


@every_estimator
def test_what_is_given_by_position_is_said(estimator):
    n = 3 if estimator in MART else 2
    by_position = "X and y and sample_weight" if n == 3 else "X and y"
    message = rf"fit\(\) takes {by_position} by position; by name, "
    with pytest.raises(TypeError, match=f"^{estimator.__name__}.{message}"):
        make(estimator).fit(*[X] * n, GROUPS)


@every_estimator
def test_signatures_say_what_is_taken(estimator):
    """They are what scikit-learn's routing and `clone`, and editors, read."""
    for name in METHODS:
        if hasattr(estimator, name):
            parameters = inspect.signature(getattr(estimator, name)).parameters
            kinds = {parameter.kind for parameter in parameters.values()}
            assert kinds <= {
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                inspect.Parameter.KEYWORD_ONLY,
            }
    assert clone(make(estimator)).get_params().keys() >= set(
        inspect.signature(estimator).parameters
    )


def test_a_class_of_the_user_keeps_its_own_arguments():
    class OfSizes(LambdaMARTRanker):
        def fit(self, X, y, *, group=None):
            groups = np.repeat(np.arange(len(group)), group)
            return super().fit(X, y, groups=groups)

    assert OfSizes(n_estimators=1).fit(X, Y, group=SIZES).n_iter_ == 1
    with pytest.raises(TypeError, match=r"^OfSizes.fit\(\) has no argument 'qid'"):
        OfSizes().fit(X, Y, qid=GROUPS)


@pytest.mark.parametrize("page", ["lightgbm", "xgboost", "catboost"])
def test_every_parameter_of_the_tables_of_coming_from_is_known(page):
    ours = inspect.signature(LambdaMARTRanker).parameters
    seen = 0
    for cell, _, cell_here, _ in coming_from.rows(page):
        # names alone or with a value; not calls, methods and attributes
        names = cell.split(" with ")[0]
        theirs = re.findall(r"`(\w+[a-z])(?:=[^`(]*)?`", names)
        expected = {name for name in re.findall(r"`(\w+)", cell_here) if name in ours}
        for word in theirs if expected else ():
            if word in ours or hasattr(LambdaMARTRanker, word):
                continue
            if word == "loss_function":  # whose values are several parameters here
                continue
            seen += 1
            assert expected & set(OTHER_NAMES[word][0].split()), (word, expected)
    assert seen > 5  # the names were found


# --- what is missing ------------------------------------------------------------------


def test_more_rows_without_groups_than_a_query_has_cannot_be_ranked():
    more, of_more = np.tile(X, (20, 1)), np.tile(GROUPS, 20)
    ranker = LambdaMARTRanker(n_estimators=1).fit(X, Y, groups=GROUPS)
    bag = BaggingRanker(ranker, n_estimators=2).fit(X, Y, groups=GROUPS)
    for method in (ranker.rank, bag.rank, bag.predict_std):
        with pytest.raises(ValueError, match="groups was not given, and"):
            method(more)
        assert len(method(more, groups=of_more)) == len(more)
        assert len(method(X[:9])) == 9  # a query, without a warning


def test_missing_groups_of_validation_data_are_named():
    more, of_more = np.tile(X, (20, 1)), np.tile(Y, 20)
    for estimator in (LambdaMARTRanker, LambdaRankRanker, RankNetRanker):
        with pytest.raises(ValueError, match=r"^groups_val was not given, and.*_val="):
            estimator().fit(X, Y, groups=GROUPS, X_val=more, y_val=of_more)
        with pytest.raises(ValueError, match=r"^groups_val\[1\] was not given, and"):
            estimator().fit(
                X, Y, groups=GROUPS, X_val=(X, more), y_val=(Y, of_more),
                groups_val=(GROUPS, None),
            )  # fmt: skip


@pytest.mark.parametrize("init", [None, LambdaMARTRanker(n_estimators=1)])
def test_no_rows_have_no_scores(init):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abcd"))
    for table in (X, frame):
        rankers = [
            LambdaMARTRanker(n_estimators=2, init=init), LambdaRankRanker(max_iter=1),
            BaggingRanker(LambdaMARTRanker(n_estimators=2), n_estimators=2),
            BlendedRanker(MEMBERS, method="equal"),
        ]  # fmt: skip
        for ranker in rankers:
            ranker.fit(table, Y, groups=GROUPS)
            scores, ranks = ranker.predict(table[:0]), ranker.rank(table[:0])
            assert (scores.shape, scores.dtype) == ((0,), np.float64)
            assert (ranks.shape, ranks.dtype) == ((0,), np.int64)
            assert ranker.rank(table[:0], groups=GROUPS[:0]).shape == (0,)
            if table is X:
                with pytest.raises(ValueError, match="0 feature|features|columns"):
                    ranker.predict(X[:0, :2])
            with pytest.raises(ValueError, match="no rows|at least one row"):
                ranker.score(table[:0], Y[:0], groups=GROUPS[:0])
        assert rankers[0].apply(table[:0]).shape == (0, 2)
    classifier = MARTClassifier(n_estimators=1).fit(X, Y > 0)
    assert classifier.predict_proba(X[:0]).shape == (0, 2)
    assert classifier.predict(X[:0]).shape == (0,)
    assert MARTRegressor(n_estimators=1).fit(X, Y).predict(X[:0]).shape == (0,)
    for fit in (
        lambda: LambdaMARTRanker().fit(X[:0], Y[:0], groups=GROUPS[:0]),
        lambda: MARTRegressor().fit(
            X, Y, X_val=X[:0], y_val=Y[:0],
        ),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"0 sample\(s\)"):
            fit()
