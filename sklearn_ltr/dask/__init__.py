"""Rankers that are fitted by the workers of a Dask cluster."""
