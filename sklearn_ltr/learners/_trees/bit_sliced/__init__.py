"""Scores of many rows at once: trees as circuits of bits, 512 rows to a word.

In the order of reading: what is asked (questions), the numbers of the leaves
(numbering), how their bits are found (circuits), and scores from them (scorer).
"""

from sklearn_ltr.learners._trees.bit_sliced.conditions import Trees
from sklearn_ltr.learners._trees.bit_sliced.evaluator import Scorer

__all__ = ["Scorer", "Trees"]
