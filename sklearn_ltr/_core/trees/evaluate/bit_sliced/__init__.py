r"""Bit-sliced evaluation: the scores of 512 rows at once, by bitwise instructions.

The plain way to evaluate an ensemble is to walk: each row goes through each tree, from
the root to a leaf (``tree_walk.py``).  Every step waits for the one before, and the
processor cannot predict where it leads.  Here a tree becomes a circuit of logic gates
without a branch.  Its output is a code of the leaf that a row reaches, and every gate
is one instruction for 512 rows.  The scores are the same, bit for bit.

An example
----------
A tree of four leaves with the values 10, 20, 30 and 40.  A row whose x0 is missing goes
left, and one whose x1 is missing goes right.

              node 0: x0 <= 2
               /            \
      node 1: x1 <= 5    node 2: x0 <= 7
        /       \          /       \
       10        20        30        40

>>> import numpy as np
>>> from sklearn_ltr._core.trees.evaluate.tree_walk import TreeNodes
>>> nodes = TreeNodes(
...     first_node=np.array([0, 7]),
...     feature=np.array([0, 1, 0, -1, -1, -1, -1], dtype=np.int32),
...     threshold=np.array([2.0, 5.0, 7.0, 0, 0, 0, 0]),
...     missing_left=np.array([True, False, True, False, False, False, False]),
...     left=np.array([1, 3, 5, -1, -1, -1, -1], dtype=np.int32),
...     right=np.array([2, 4, 6, -1, -1, -1, -1], dtype=np.int32),
...     value=np.array([0.0, 0.0, 0.0, 10.0, 20.0, 30.0, 40.0]),
... )

1. *Conditions* (``conditions.py``).  A node tests a condition: a feature, a threshold,
and the side of missing values.  Each distinct condition is evaluated once,
however many nodes of however many trees share it: 3,000 nodes of 100 trees may share
1,600.

>>> from sklearn_ltr._core.trees.evaluate.bit_sliced import conditions as found
>>> conditions, condition_of_node = found.collect_conditions(nodes)
>>> conditions.threshold  # condition 0: x0 <= 2, condition 1: x0 <= 7, 2: x1 <= 5
array([2., 7., 5.])
>>> condition_of_node[:3]
array([0, 2, 1])

The *condition bit* of a row is 0 where it goes left, and 1 where it goes right.  For
four rows:

       x0    x1    x0 <= 2   x0 <= 7   x1 <= 5
        1     3       0         0         0
        1     9       0         0         1
        5   NaN       1         0         1
        8     5       1         1         0

>>> X = np.array([[1.0, 3.0], [1.0, 9.0], [5.0, np.nan], [8.0, 5.0]])
>>> bits = ~(X[:, [0, 0, 1]] <= conditions.threshold)  # no x0 is missing here
>>> bits.astype(int)
array([[0, 0, 0],
       [0, 0, 1],
       [1, 0, 1],
       [1, 1, 0]])

2. *Leaf codes* (``circuits.py``).  A leaf may have several codes,
which differ in bits that do not matter.  Here there are 8 codes, one bit more than four
leaves need: with more codes, less regular trees take fewer gates.  The upper half
of the codes goes to the leaves on the right of the root; the upper half of each half to
the right one of two leaves.  Each leaf keeps two codes, and bit 0 does not matter:

       leaf     10    20    30    40
       code    00-   01-   10-   11-

>>> from sklearn_ltr._core.trees.evaluate.bit_sliced.circuits import build_circuits
>>> circuits, n_vectors = build_circuits(nodes, condition_of_node, n_conditions=3)
>>> circuits.value  # by code
array([[10., 10., 20., 20., 30., 30., 40., 40.]])

3. *Gates* (``circuits.py``).  Each bit of the code of the leaf that a row reaches is
found from the leaves up: at a node, it is the bit found on the right if the condition
bit is 1, else the bit found on the left.  This is a select gate (a multiplexer).

- Bit 2 is 0 under node 1 and 1 under node 2.  At the root, "1 if the bit of x0 <= 2
  else 0" is that condition bit itself, and takes no gate.
- Bit 1 is, for the same reason, the bit of x1 <= 5 at node 1 and the bit of x0 <= 7 at
  node 2.  At the root it takes a gate: "the bit of x0 <= 7 if the bit of x0 <= 2 else
  the bit of x1 <= 5".
- Bit 0 does not matter anywhere.  It becomes the constant 0.

So this tree takes one gate.  *Bit vectors*, which hold a bit of each row, are numbered:
0 and 1 are the constants, 2 tells where a feature is missing, 3 to 5 are the condition
bits, and 6 is the output of the gate.

>>> from sklearn_ltr._core.compile import VECTOR_LANES
>>> circuits.gate // VECTOR_LANES  # vectors of the condition, of zero and of one
array([[3, 5, 4]], dtype=uint32)
>>> circuits.code_bit // VECTOR_LANES  # vectors of bits 0, 1, 2, ...
array([[0, 6, 3, 0, 0, 0, 0, 0]], dtype=uint32)
>>> n_vectors  # 0 to 6
7

4. *Values* (``evaluator.py``).  For the four rows the gate outputs 0, 1, 0 and 1.  That
is bit 1; with bit 2 before it and bit 0 after it, the codes are 000, 010, 100 and 110.

>>> gate_output = np.where(bits[:, 0], bits[:, 1], bits[:, 2])
>>> codes = 4 * bits[:, 0] + 2 * gate_output
>>> codes
array([0, 2, 4, 6])
>>> circuits.value[0, codes]
array([10., 20., 30., 40.])

These are added to the scores, tree by tree, in the order of the trees:

>>> from sklearn_ltr._core.trees.evaluate.bit_sliced import BitSlicedEvaluator
>>> scores = np.zeros(4)
>>> BitSlicedEvaluator(nodes).add_to(scores, X)
>>> scores
array([10., 20., 30., 40.])

How 512 rows share an instruction
---------------------------------
A bit vector has one bit for each of 512 rows.  With registers of 512 bits (AVX-512) a
gate is one or two instructions; with narrower ones it is a few more.  For each block of
512 rows, `evaluate_ensemble` in ``evaluator.py``

- copies the tested features, so that values of different rows are adjacent
  (`transpose_features`);
- subtracts 16 values at a time from a condition's threshold and collects the signs; in
  rows where the feature is missing, the condition's side replaces them
  (`evaluate_conditions`);
- evaluates the gates of one tree after another (`evaluate_gates`);
- turns the 8 bit vectors of a tree's code into a byte for each row (`transpose_bits`);
- looks up the leaf value of each byte and adds it to the score (`add_leaf_values`).

The files, in the order of reading
----------------------------------
- ``../tree_walk.py``: the plain walk, which is the specification.
- ``conditions.py``: the distinct conditions; skip category sets at first.
- ``circuits.py``: how trees of more than 256 leaves are divided (skip it at first),
  which leaf gets which codes, and the gates.
- ``sklearn_ltr/_core/compile/bit_vectors.py``: instructions on bit vectors.  Each is
  documented at its plain Python form, at the end of that file.
- ``evaluator.py``: the entry point, `BitSlicedEvaluator`, and the loops over rows.
"""

from sklearn_ltr._core.trees.evaluate.bit_sliced.evaluator import BitSlicedEvaluator
