"""What holds for every test."""

from __future__ import annotations

import signal

from hypothesis import settings

# the first example may wait for the compiler
settings.register_profile("compiled kernels", deadline=None)
settings.load_profile("compiled kernels")

# a shell lets what it runs in the background ignore Ctrl-C, and tests would wait for it
signal.signal(signal.SIGINT, signal.default_int_handler)
