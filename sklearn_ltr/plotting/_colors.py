"""Colors, markers and dashes, the same in every display.

Higher and better is teal, lower and worse is brown, neither is gray.  Color-blind
people can tell the pair apart, and the colors of lines, which also differ by markers or
dashes.  The pair differs from the red and blue of the package shap and from the colors
of lines, so that nobody confuses their meanings.
"""

from __future__ import annotations

import numpy as np

# of what is above 0, below 0, and of what may be 0; a map of colors with the same ends
BETTER, WORSE, EQUAL = "#35978f", "#bf812d", "0.7"
WORSE_TO_BETTER = "BrBG"

# RGB of grade 0, of the lowest grade above 0 and of the highest grade
NOT_RELEVANT = np.array([0.85, 0.85, 0.85])
PALE, DARK = np.array([0.68, 0.80, 0.93]), np.array([0.07, 0.20, 0.42])

# Of lines, in turn: colors have no common factor with the others, so 42 lines with
# markers or 21 with dashes are different.  "--" is for training data and for the truth.
# The colors are at least 31 (Delta E of CIELAB) apart, the first five 33, and with
# protanopia or deuteranopia, too.
LINES = (
    "tab:blue", "#e89806", "#47b96f", "#bf090f", "#393aca", "#784b5a", "#78c3e1"
)  # fmt: skip
MARKERS = ("o", "s", "^", "D", "v", "P")
DASHES = ("-", "-.", ":")

# of the forces on documents; Burges (2010) draws RankNet's black and LambdaRank's red
FORCES = ("black", "tab:red", *LINES[:3])

UNNAMED = "0.75"  # of curves without a name in the legend
