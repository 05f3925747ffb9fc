"""What the estimators of this package share, whether they rank or not.

A table is read (``table``), parameters are checked (``parameters``), trees are added
until they no longer help (``boosted``, ``progress``), callbacks hear of each
(``callbacks``), and what a failed fit has changed is put back (``state``).  Nothing
here knows a query.
"""
