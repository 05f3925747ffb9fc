"""Lambdas: gradient and hessian of every document, from pairs of documents.

    dC/ds_i = sum over the pairs of document i of  -sigma rho_ij * |swap delta|

The first factor, the derivative of RankNet's cost of a pair, alone gives RankNet.
Multiplied by the change of a metric if the two documents swap places, it gives
LambdaRank and LambdaMART.

Words
-----
pair
    Two documents i, j of one query, of which i has the higher grade.
judged pair
    Two documents of which i beats j with a probability, whatever their grades.
rho_ij
    ``1 / (1 + exp(sigma (s_i - s_j)))``: the model's probability that j beats i.
lambda_ij
    ``-sigma |swap delta_ij| rho_ij``, the derivative of the pair's cost by s_i; by s_j
    it is the opposite (equations 3 and 6 of Burges, 2010).
gradient
    The lambda of a document: lambda_i = dC/ds_i, the sum over its pairs (equation 4).
    With a positive gradient the document moves down.
hessian
    The diagonal second derivative, d2C/ds2, with swap deltas taken as constants.

For a metric with a cutoff k, only pairs with a document in the current top k have a
swap delta; the loop runs over those n x k pairs, which is exact.

Order of reading
----------------
1. ``pair.py``: the cost of one pair, its lambda and its curvature.
2. ``ranked_queries.py``: ranked lists, and what swap deltas are computed from.
3. ``pairs.py``: the pairs of one list after another; ``short_lists.py``: the same, for
   several lists at a time.
4. ``graded_pairs.py``, ``judged_pairs.py``, ``user_function.py``: what a ranker can
   learn from, each a class of `Lambdas` (``base.py``).
5. ``ranknet.py``: RankNet's cost, and its pairs of equal grade.
6. ``regression.py``: a regression on the grades, which is added to the lambdas.
7. ``position_bias.py``: the bias of positions in clicks, learned along with the scores.
"""
