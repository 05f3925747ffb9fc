"""Scripts that measure this package, run as modules from the root of a checkout.

This file keeps two checkouts on one path apart: of a folder without it, Python would
put the modules of both together.
"""
