"""Ensembles: the mean of rankers that were trained with different random numbers.

    s_i  =  1/M  sum over members m of  s_i of member m

:class:`BaggingRanker` fits them, on all queries or on queries drawn at random, and
estimates from the queries that a member was not trained on how well they rank new ones.
"""

from sklearn_ltr.ensemble._bagging import BaggingRanker

__all__ = ["BaggingRanker"]
