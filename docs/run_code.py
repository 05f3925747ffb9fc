"""Sphinx extension: runs the Python of a page, and shows what it prints and draws.

The blocks of a Markdown page run in their order, in one session, as the tests run them.
What a block prints stands below it, then the pictures that it has drawn.  The source
has plain fences, so pages read well anywhere, and no output is ever typed.  An error
ends the build.  With ``-D run_code=0`` no block runs.
"""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Any

import matplotlib as mpl
import sklearn
from docutils import nodes
from matplotlib import pyplot as plt
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.transforms import SphinxTransform

FIGURES = "_figures"  # a folder of pictures, beside the pages
STYLE = {"figure.dpi": 96, "savefig.dpi": 192, "savefig.bbox": "tight"}


def title_of(figure: Any) -> str:
    """Return what a picture says of itself, for those who do not see it."""
    texts = [figure.get_suptitle()]
    for axes in figure.axes:
        texts += [axes.get_title(), axes.get_xlabel(), axes.get_ylabel()]
    return ", ".join(dict.fromkeys(filter(None, texts)))


class RunCode(SphinxTransform):
    """Puts output and pictures behind the blocks of Python of a Markdown page."""

    default_priority = 400

    def apply(self, **kwargs: Any) -> None:
        if not str(self.env.doc2path(self.env.docname)).endswith(".md"):
            return  # docstrings, and the gallery, which runs by itself
        if not self.config.run_code:
            return
        blocks = [
            block
            for block in self.document.findall(nodes.literal_block)
            if block.get("language") == "python"
        ]
        names: dict[str, Any] = {"__name__": "page"}
        # the examples of the gallery have run before, and may have enabled routing
        off = sklearn.config_context(enable_metadata_routing=False)
        with off, mpl.rc_context(STYLE):
            for number, block in enumerate(blocks):
                after = self.output_of(block, names)
                after += self.pictures(f"{self.env.docname}-{number}")
                place = block.parent.index(block) + 1
                block.parent.insert(place, after)

    def output_of(self, block: nodes.literal_block, names: dict) -> list[nodes.Node]:
        """Run a block; return what it prints."""
        code = block.astext()
        where = f"{self.env.docname}.md, line {block.line}"
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed):
                exec(compile(code, where, "exec"), names)
        except Exception as error:
            raise ExtensionError(f"{where}: {error!r}", error) from error
        text = printed.getvalue().rstrip()
        if not text:
            return []
        return [nodes.literal_block(text, text, language="none", classes=["output"])]

    def pictures(self, name: str) -> list[nodes.Node]:
        """Save the pictures that are open, close them and return them."""
        images: list[nodes.Node] = []
        for number in plt.get_fignums():
            figure = plt.figure(number)
            path = Path(FIGURES) / f"{name.replace('/', '-')}-{number}.png"
            (self.env.srcdir / FIGURES).mkdir(exist_ok=True)
            figure.savefig(self.env.srcdir / path)
            width = f"{figure.get_figwidth() * 96:.0f}px"
            images.append(
                nodes.image(uri=f"/{path}", alt=title_of(figure), width=width)
            )
        plt.close("all")
        return images


def setup(app: Sphinx) -> dict[str, Any]:
    mpl.use("Agg")
    app.add_transform(RunCode)
    app.add_config_value("run_code", True, "env", [bool, int])
    return {"parallel_read_safe": True, "parallel_write_safe": True}
