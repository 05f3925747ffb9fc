"""Compiling before a kernel is needed: a process that calls all kernels on small data.

``python -m sklearn_ltr._ahead_of_time STEP ...`` takes some steps (:mod:`.small_fits`),
and then all others.  The command ``compile`` runs several such processes, and a first
fit one beside it (`_core/compile.helper`).
"""
