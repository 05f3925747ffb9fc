"""Leaves modules aside whose library is not installed, where pytest imports all."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("pyspark") else ["sklearn_ltr/spark/*"]
