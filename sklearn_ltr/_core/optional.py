"""Libraries that only some functions need."""

from importlib import import_module


def require(library: str, user: str) -> None:
    """Raise an ImportError that says how to install a library, if it is missing."""
    try:
        import_module(library)
    except ImportError as error:
        raise ImportError(
            f"{user} requires {library}: install it by python -m pip install {library}"
        ) from error
