"""A process that compiles kernels for another one, and ends with it.

    python -P -S helper_process.py PARENT FOLDER MODULE ARGUMENT ...

It runs ``main(ARGUMENT, ...)`` of a module of the package, which is found in FOLDER.
PARENT is the id of the process that has started it.  No other file of the package runs
this one as a module, since the first thing that it does must not wait for an import.
"""

import importlib
import os
import sys

PR_SET_PDEATHSIG, SIGKILL = 1, 9  # of Linux
LOOK_AGAIN = 0.5  # seconds


def end_with(parent: int) -> None:
    """Let this process end when its parent does."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, SIGKILL)
    else:
        import threading

        threading.Thread(target=wait_for_end_of, args=(parent,), daemon=True).start()
    if os.getppid() != parent:  # it has ended already
        os._exit(0)


def wait_for_end_of(parent: int) -> None:
    """End this process within a second of its parent."""
    import time

    while os.getppid() == parent:
        time.sleep(LOOK_AGAIN)
    os._exit(0)


if __name__ == "__main__":
    parent, folder, module, *arguments = sys.argv[1:]
    end_with(int(parent))
    import site

    site.main()  # packages that are installed, without which -S has started it
    if folder not in sys.path:
        sys.path.insert(0, folder)
    importlib.import_module(module).main(*arguments)
