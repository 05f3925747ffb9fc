"""Regression trees on binned columns: bin, add up, cut, grow, predict."""
