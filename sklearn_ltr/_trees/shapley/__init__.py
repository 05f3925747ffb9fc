r"""Shapley values of trees: what each feature adds to the score of a row, exactly.

A game: the players are the features, and a coalition S knows the values that x has in
S.  v(S) is the score to be expected from that, and feature j is given its mean marginal
contribution over all orders in which the d players may join:

    phi_j  =  sum over S without j of  |S|! (d - |S| - 1)! / d!  (v(S + j) - v(S))

The phi_j add up to v(all) - v(none), the score of x less the bias.  What is expected of
the unknown features is one of two things (Lundberg et al. 2020, algorithms 1 to 3):

- *path dependent*: at a node that tests an unknown feature, a row goes to both
  children, divided as the training rows were;
- *interventional*: the unknown features take the values of a background row, and v is
  the mean over background rows.

The game of a sum of leaves is the sum of their games.  In that of one leaf, only the
features on its path play.  Let x satisfy all conditions of feature k on the path
(b_k = 1) or not (b_k = 0).  With the leaf's value w,

    path dependent:   v(S) = w  prod of b_k over S  prod of p_k over the others
    interventional:   v(S) = w  prod of b_k over S  share of the background rows that
                                                    satisfy the conditions of the others

where p_k is the product of the fractions of training rows that follow the edges of k.

The files, in the order of reading:

- ``paths.py``: the edges of trees, and which rows follow them;
- ``path_dependent.py``: an integral over the order, by Gauss-Legendre quadrature;
- ``interventional.py``: a table of phi for each leaf, by which conditions x satisfies;
- ``explaining.py``: the entry point; loops over trees, rows and threads.

References
----------
S. Lundberg et al., "From local explanations to global understanding with explainable AI
for trees", Nature Machine Intelligence 2, 2020 (and arXiv:1802.03888, 2018).

P. Yu, C. Xu, A. Bifet and J. Read, "Linear TreeSHAP", NeurIPS 2022: path-dependent
values in a time linear in the number of leaves, by polynomials instead of coalitions.

J. Yang, "Fast TreeSHAP", arXiv:2109.09847, 2021: tables by the conditions satisfied.
"""

from sklearn_ltr._trees.shapley.explaining import explain_trees

__all__ = ["explain_trees"]
