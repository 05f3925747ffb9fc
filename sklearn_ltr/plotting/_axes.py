"""What every display needs: matplotlib, and axes to draw on."""

from __future__ import annotations

from typing import Any


def check_matplotlib(caller: str) -> None:
    """Raise an ImportError that says what to install, unless matplotlib is there."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"{caller} requires matplotlib; install it with "
            'pip install "sklearn_ltr[plot]"'
        ) from error


def axes_to_draw_on(caller: str, ax: Any, figsize: tuple[float, float]) -> Any:
    """Return `ax`, or the axes of a new pyplot figure if it is None."""
    check_matplotlib(caller)
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=figsize, layout="constrained")[1]
