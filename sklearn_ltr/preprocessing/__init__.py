r"""Transformers of the columns of X.

- :class:`SmoothClipScaler` scales numbers for networks, whatever their tails: with the
  median m and a robust scale s of a column,

  .. math:: z = \frac{x - m}{s}, \qquad c = \frac{z}{\sqrt{1 + (z / 3)^2}},

  divided by the root mean square of c, at least 0.1;

- :class:`TableVectorizer` turns any table, with missing values, categories and dates,
  into numbers for networks;

- :class:`CategoryPairs` adds columns for combinations of categories.
"""

from sklearn_ltr._core.public_names import publish
from sklearn_ltr.preprocessing._category_pairs import CategoryPairs
from sklearn_ltr.preprocessing._smooth_clip import SmoothClipScaler
from sklearn_ltr.preprocessing._table_vectorizer import TableVectorizer

__all__ = ["CategoryPairs", "SmoothClipScaler", "TableVectorizer"]
publish(globals())
