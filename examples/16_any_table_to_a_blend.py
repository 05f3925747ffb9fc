"""From a table to a blend: numbers, categories, dates and gaps
============================================================

Run it by ``python 16_any_table_to_a_blend.py``.
Needs ``python -m pip install ".[examples]"``.

A table of products has prices with a long tail, many brands, dates and gaps. Trees take
numbers, categories and gaps as they are. A network needs numbers of about unit size,
which a TableVectorizer makes. BlendedRanker() has both: five models of trees, and a
network behind a TableVectorizer. The example compares the blend with its parts on later
searches, and writes it to a file.
"""

# sphinx_gallery_thumbnail_path = "_static/thumbnails/16_any_table_to_a_blend.svg"
from __future__ import annotations

from pathlib import Path
from tempfile import gettempdir

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from sklearn_ltr.ensemble import BlendedRanker
from sklearn_ltr.export import from_json, to_json
from sklearn_ltr.model_selection import compare_rankers, group_train_test_split
from sklearn_ltr.plotting import RankerComparisonDisplay
from sklearn_ltr.preprocessing import TableVectorizer

# %%
# The table
# ---------
# The example makes 600 searches of a year, with 15 products each. Customers like some
# brands and colors better, low prices, and what is new. The newest products have no
# rating yet, and some have no brand or color.
rng = np.random.default_rng(0)
n_searches, n_products, n_brands = 600, 15, 120
n = n_searches * n_products
groups = np.repeat(np.arange(n_searches), n_products)
date = pd.Timestamp("2025-01-01") + pd.to_timedelta(
    np.sort(rng.integers(0, 365, n_searches))[groups], unit="D"
)
days = rng.exponential(200, n).round()
brand, color = rng.integers(0, n_brands, n), rng.integers(0, 6, n)
quality, price = rng.standard_normal(n), rng.lognormal(3, 1, n)
table = pd.DataFrame(
    {
        "price": price.round(2),
        "rating": (quality + rng.normal(0, 0.3, n)).round(1),
        "brand": pd.Categorical([f"brand {i}" for i in brand]),
        "color": pd.Categorical.from_codes(
            color, ["black", "blue", "green", "red", "white", "yellow"]
        ),
        "on_sale_since": date - pd.to_timedelta(days, unit="D"),
    }
)
table.loc[days < 30, "rating"] = np.nan
table.loc[rng.random(n) < 0.1, ["brand", "color"]] = None
liking = (
    rng.standard_normal(n_brands)[brand]
    + rng.normal(0, 0.5, 6)[color]
    + quality
    - np.log(price)
    - days / 300
    + rng.standard_normal(n)
)
y = np.digitize(liking, np.quantile(liking, [0.6, 0.85, 0.95]))
print(table.head(4).to_string())

# %%
# A date matters by its distance from the search, and trees refuse dates: a column of
# days takes its place.
table["days_on_sale"] = (date - table["on_sale_since"]).dt.days
table = table.drop(columns="on_sale_since")

# %%
# Columns of numbers
# ------------------
# A TableVectorizer takes each column for one of these kinds. A few categories have a
# column each. Many become one column, "target": the mean grade of a brand, learned for
# each row from other searches than its own. Columns with gaps have one that says where.
vectorizer = TableVectorizer()
numbers = vectorizer.fit_transform(table, y, groups=groups)
print(pd.Series(vectorizer.kinds_, index=table.columns).to_string())
print(f"{table.shape[1]} columns become {numbers.shape[1]}:")
print(*vectorizer.get_feature_names_out(), sep=", ")

# %%
# The blend and its parts
# -----------------------
# The later half of the searches is the test. The parts of the blend, ``rankers_``, have
# learned from the same searches as the blend. A difference whose interval contains 0
# may be chance.
X, X_test, y, y_test, groups, groups_test = group_train_test_split(
    table, y, groups=groups, order=date, test_size=0.5
)
blend = BlendedRanker(random_state=0).fit(X, y, groups=groups)
trees, network = blend.rankers_
comparison = compare_rankers(
    {"network": network, "trees": trees, "blend": blend},
    X_test,
    y_test,
    groups=groups_test,
)
print(comparison)
RankerComparisonDisplay.from_comparison(comparison)
plt.show()

# %%
# A file
# ------
# The file has the trees, the network, and what the TableVectorizer has learned. Nothing
# in it is executed when it is read, unlike a pickle. Does the model that is read give
# the same scores?
path = Path(gettempdir()) / "blend.json"
path.write_text(to_json(blend), encoding="utf-8")
again = from_json(path.read_text(encoding="utf-8"))
is_same = bool((again.predict(X_test) == blend.predict(X_test)).all())
print(f"{path.stat().st_size / 1e6:.1f} MB, the same scores: {is_same}")
