"""Where the text of another library's model comes from."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any


def text_of(
    model: Any, library: str, written_by: Callable[[Any], str | bytes | None]
) -> str:
    """Return the text of a model.

    Parameters
    ----------
    model : str, bytes, path, or a model of the library
        Text of one line that does not begin with a brace is a path.
    library : str
        Its name, for messages.
    written_by : callable
        Returns the text of a model of the library, None for another object.
    """
    text: str | bytes | None
    if isinstance(model, str) and ("\n" in model or model.lstrip().startswith("{")):
        text = model
    elif isinstance(model, bytes | bytearray):
        text = bytes(model)
    elif isinstance(model, str | os.PathLike):
        text = Path(model).read_bytes()
    else:
        text = written_by(model)
    if text is None:
        raise TypeError(
            f"model must be a fitted model of {library}, its text or its file, got "
            f"{type(model).__name__}"
        )
    try:
        return text if isinstance(text, str) else text.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"the model is no text ({error})") from None
