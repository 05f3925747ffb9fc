"""Pictures, by scikit-learn's convention for displays.

A display holds numbers; `plot` draws them.  Building one takes no matplotlib, so its
numbers can be read without a picture.  ``from_estimator`` and ``from_predictions``
compute the numbers and draw at once; all three draw on the axes they are given, or on
new ones, and return the display, whose attributes that end in ``_`` are what was drawn.

matplotlib is imported when something is drawn, and only then:
``pip install "sklearn_ltr[plot]"``.
"""

from sklearn_ltr.plotting._forces import ForcesDisplay

__all__ = ["ForcesDisplay"]
