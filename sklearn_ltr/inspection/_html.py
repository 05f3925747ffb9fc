"""HTML of a report: escaped text, tables, bars, and matplotlib's pictures as SVG."""

from __future__ import annotations

import base64
import warnings
from collections.abc import Callable, Iterable, Sequence
from html import escape
from importlib import import_module
from io import BytesIO
from typing import Any

from sklearn_ltr.model_selection._comparison import as_html

CLASS = "sklearn-ltr-report"
# Colors of text and background are those of the page or the notebook, light or dark.
# Pictures have a white background of their own.
STYLE = """
.CLASS { max-width: 60rem; margin: 0 auto; line-height: 1.45;
  font-family: system-ui, sans-serif; font-size: 15px; }
.CLASS h1 { font-size: 1.6em; margin: 0.6em 0 0.2em; }
.CLASS h2 { font-size: 1.2em; margin: 1.8em 0 0.4em; padding-bottom: 0.2em;
  border-bottom: 1px solid rgba(128, 128, 128, 0.5); }
.CLASS h3 { font-size: 1em; margin: 1.2em 0 0.3em; }
.CLASS p { margin: 0.4em 0; max-width: 46rem; }
.CLASS .wide { overflow-x: auto; margin: 0.5em 0; }
.CLASS table { border-collapse: collapse; font-variant-numeric: tabular-nums;
  font-size: 0.9em; margin: 0; }
.CLASS th, .CLASS td { text-align: right; padding: 0.2em 0.6em; vertical-align: top;
  border: 0; border-bottom: 1px solid rgba(128, 128, 128, 0.25); background: none; }
.CLASS th { font-weight: 600; vertical-align: bottom; }
.CLASS th:first-child, .CLASS td:first-child { text-align: left; padding-left: 0;
  min-width: 3.5em; overflow-wrap: anywhere; }
.CLASS .words th, .CLASS .words td { text-align: left; overflow-wrap: anywhere; }
.CLASS .row { display: flex; flex-wrap: wrap; gap: 0.2em 3em;
  align-items: flex-start; }
.CLASS .row > div { flex: 0 1 auto; min-width: 0; }
.CLASS .row > .drawn { flex: 1 1 22rem; }
.CLASS .figures { display: flex; flex-wrap: wrap; gap: 0.4em 2.2em; margin: 0.8em 0; }
.CLASS .figures b { display: block; font-size: 1.5em; font-weight: 600; }
.CLASS .figures span { opacity: 0.75; font-size: 0.9em; }
.CLASS .bars td { border-bottom: 0; padding-top: 0.05em; padding-bottom: 0.05em; }
.CLASS .bars td:nth-child(2) { width: 16rem; text-align: left; }
.CLASS .bars i { display: inline-block; height: 0.8em; background: #4a90c8; }
.CLASS img { background: white; border-radius: 4px; max-width: 100%; height: auto;
  margin: 0.4em 0.4em 0.4em 0; vertical-align: top; }
.CLASS details { margin: 0.4em 0; }
.CLASS summary { cursor: pointer; opacity: 0.75; }
@media (max-width: 480px) {
  .CLASS { font-size: 14px; }
  .CLASS th, .CLASS td { padding: 0.2em 0.3em; }
  .CLASS .bars td:nth-child(2) { width: 9rem; }
}
""".replace("CLASS", CLASS)
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
</head>
<body>
{body}
</body>
</html>
"""
# Text stays text, so a browser writes it with fonts that have the letters of any
# language; ids are the same in every run.
SVG = {"svg.fonttype": "none", "svg.hashsalt": CLASS}


def page(title: str, body: str) -> str:
    """Return a whole page around a report."""
    return PAGE.format(title=escape(title), body=body)


def report(title: str, parts: Iterable[str]) -> str:
    """Return a report to be shown in a page or a notebook."""
    body = "\n".join(parts)
    return (
        f'<div class="{CLASS}">\n<style>{STYLE}</style>\n<h1>{escape(title)}</h1>\n'
        f"{body}\n</div>"
    )


def section(title: str, *parts: str) -> str:
    """Return a heading and what is below it."""
    return "\n".join((f"<h2>{escape(title)}</h2>", *filter(None, parts)))


def heading(text: str) -> str:
    """Return a heading inside a section."""
    return f"<h3>{escape(text)}</h3>"


def row(*parts: str) -> str:
    """Return parts side by side; a picture takes the remaining room."""
    cells = (
        f"<div{' class=drawn' if part.startswith('<img') else ''}>{part}</div>"
        for part in parts
        if part
    )
    return f'<div class="row">{"".join(cells)}</div>'


def paragraph(text: str) -> str:
    """Return a paragraph of text."""
    return f"<p>{escape(text)}</p>"


def figures(values: Iterable[tuple[str, str]]) -> str:
    """Return large figures, each with its name."""
    shown = (
        f"<div><b>{escape(value)}</b><span>{escape(name)}</span></div>"
        for name, value in values
    )
    return f'<div class="figures">{"".join(shown)}</div>'


def table(
    header: Sequence[str], rows: Iterable[Sequence[object]], kind: str = ""
) -> str:
    """Return a table of numbers and text, all aligned as text for `kind` "words"."""
    cells = as_html([header, *rows], f' class="{kind}"', between="\n")
    return f'<div class="wide">{cells}</div>'


def bars(counts: Iterable[tuple[str, int]]) -> str:
    """Return a bar for each count, with its name."""
    counts = list(counts)
    largest = max(count for _, count in counts) or 1
    rows = "\n".join(
        f"<tr><td>{escape(name)}</td>"
        f'<td><i style="width: {100 * count / largest:.1f}%"></i></td>'
        f"<td>{count:,}</td></tr>"
        for name, count in counts
    )
    return f'<table class="bars"><tbody>\n{rows}\n</tbody></table>'


def details(shown: str, hidden: str) -> str:
    """Return `shown` and, behind a click, `hidden`; or `hidden` alone."""
    if not shown:
        return hidden
    return f"{shown}\n<details><summary>Numbers</summary>\n{hidden}\n</details>"


def can_draw() -> bool:
    """Return whether matplotlib is installed."""
    try:
        import_module("matplotlib.style")
    except ImportError:
        return False
    return True


def picture(
    description: str,
    size: tuple[float, float],
    plot: Callable[[Any], object],
    n_panels: int = 1,
) -> str:
    """Return what `plot` draws on its axes, or "" without matplotlib."""
    if not can_draw():
        return ""
    import matplotlib.style
    from matplotlib.figure import Figure

    file = BytesIO()
    # the style of matplotlib's own defaults, whatever the user has set
    with matplotlib.style.context(["default", SVG]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure = Figure(figsize=size, layout="constrained")
        plot(figure.subplots(n_panels, 1, sharex=True))
        figure.savefig(file, format="svg", metadata={"Date": None})
    data = base64.b64encode(file.getvalue()).decode("ascii")
    width, height = (round(100 * inches) for inches in size)
    return (
        f'<img alt="{escape(description)}" width="{width}" height="{height}" '
        f'src="data:image/svg+xml;base64,{data}">'
    )
