"""Lambdas: gradient and hessian of every document, from pairs of documents.

    dC/ds_i = sum over the pairs of document i of  -sigma rho_ij * |swap delta|

The first factor, the derivative of RankNet's cost of a pair, alone gives RankNet.
Multiplied by the change of a metric if the two documents swap places, it gives
LambdaRank and LambdaMART.

Words
-----
pair
    Two documents i, j of one query, of which i has the higher grade.
rho_ij
    ``1 / (1 + exp(sigma (s_i - s_j)))``: the model's probability that j beats i.
lambda_ij
    ``-sigma |swap delta_ij| rho_ij``, the derivative of the pair's cost by s_i; by s_j
    it is the opposite.
gradient
    The lambda of a document: lambda_i = dC/ds_i, the sum over its pairs (equations 3
    and 6 of Burges, 2010).  With a positive gradient the document moves down.
hessian
    The diagonal second derivative, d2C/ds2, with swap deltas taken as constants.

For a metric with a cutoff k, only pairs with a document in the current top k have a
swap delta; the loop runs over those n x k pairs, which is exact.

For clicks, pairs may have weights (``pairs.py``), and a bias of the positions
shown is learned along with the scores (``position_bias.py``).
"""
