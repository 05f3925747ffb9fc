"""Configuration of Sphinx: ``python -m sphinx -W docs docs/_build``."""

from __future__ import annotations

import inspect
import logging
import re
import sys
import warnings
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parent))
# that kernels are compiled is said on stderr, which the gallery would show
logging.getLogger("sklearn_ltr").setLevel(logging.ERROR)

project = "sklearn_ltr"
author = "The sklearn_ltr developers"
copyright = "The sklearn_ltr developers"
version = release = metadata.version("sklearn_ltr")

extensions = [
    "myst_parser",
    "numpydoc",
    "run_code",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sphinx_llms_txt",
    "sphinx-mathjax-offline",
]
exclude_patterns = ["_build", "_gallery/**/*.ipynb", "_gallery/**/*.py"]
templates_path = ["_templates"]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
# references in the docstrings that are inherited from scikit-learn
suppress_warnings = ["ref.ref", "ref.term"]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "substitution"]
# published metadata name the repository; those of a checkout do not
urls = dict(
    url.split(", ", 1)
    for url in metadata.metadata("sklearn_ltr").get_all("Project-URL", [])
)
repository = urls.get("Source", "")
myst_substitutions = {
    "version": version,
    "source": f"[repository]({repository})" if repository else "source",
}
myst_heading_anchors = 3

autosummary_generate = True
autosummary_ignore_module_all = False  # a module lists what is in its __all__
autosummary_imported_members = True
toc_object_entries_show_parents = "hide"
# without PySpark, its classes are imitated, so that those made of them have pages
autodoc_mock_imports = [] if find_spec("pyspark") else ["py4j", "pyspark"]
autodoc_typehints = "none"  # numpydoc's sections have the types
numpydoc_show_class_members = True
numpydoc_class_members_toctree = False
numpydoc_show_inherited_class_members = True

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_selector = ":not(.output) > div.highlight pre"

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "_gallery",
    "filename_pattern": r"/\d\d_",
    "ignore_pattern": r"python_docs\.py",  # what the examples import
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "write_computation_times": False,
    "default_thumb_file": str(Path(__file__).parent / "_static" / "ranked_list.svg"),
    "abort_on_example_error": True,
}
# sphinx-gallery's own
warnings.filterwarnings("ignore", category=UserWarning, message=".*FigureCanvasAgg.*")

html_theme = "pydata_sphinx_theme"
html_title = "sklearn_ltr"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_js_files = ["tables.js"]
html_logo = html_favicon = "_static/mark.svg"
# pages without a section of their own have nothing to show there
html_sidebars = {"index": [], "getting_started": [], "_gallery/index": []}
html_theme_options = {
    "logo": {"text": f"sklearn_ltr {version}"},
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": ["copyright"],
    "footer_end": [],
}
if repository:
    link = {"name": "Source", "url": repository, "icon": "fa-solid fa-code"}
    html_theme_options["icon_links"] = [link]
html_show_sourcelink = False

llms_txt_title = "sklearn_ltr"
llms_txt_summary = "Learning to rank for scikit-learn: RankNet, LambdaRank, LambdaMART."


def without_mail(app: Sphinx, document: nodes.document) -> None:
    """Metrics such as ndcg@10 look like mail addresses to docutils."""
    for link in list(document.findall(nodes.reference)):
        if link.get("refuri", "").startswith("mailto:"):
            link.replace_self(nodes.Text(link.astext()))


PUBLIC = {
    name.rpartition(".")[2]: name
    for name in re.findall(
        r"^   ~(\S+)$", (Path(__file__).parent / "api.md").read_text("utf-8"), re.M
    )
}


def link_names_in_tables(app: Sphinx, document: nodes.document) -> None:
    """Link public names in tables, such as `to_onnx` or `NDCG(5)`, to their pages."""
    for cell in document.findall(nodes.entry):
        for literal in list(cell.findall(nodes.literal)):
            name, _, arguments = literal.astext().partition("(")
            linked = isinstance(literal.parent, nodes.reference | addnodes.pending_xref)
            # functions with arguments may be those of other libraries
            if linked or name not in PUBLIC or (arguments and name.islower()):
                continue
            link = addnodes.pending_xref(
                "",
                literal.deepcopy(),
                refdoc=app.env.docname,
                refdomain="py",
                reftype="obj",
                reftarget=PUBLIC[name],
            )
            literal.replace_self(link)


# in a name or a path, where a line of a table may end
BREAKS = re.compile(r"(?<=\w)(\.|_|/|=|\(|::)(?=[A-Za-z])|(?<=[a-z])(?=[A-Z])")


def break_names(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Allow lines to end within long names, in tables more, which fit the page then."""

    def broken(text: re.Match[str]) -> str:
        return re.sub(r"[^<>\s]{14,}", lambda w: BREAKS.sub(r"\1<wbr>", w[0]), text[0])

    context["body"] = re.sub(
        r'<t[dh]\b.*?</t[dh]>|<span class="pre">[^<]{40,}<',
        lambda part: re.sub(r">[^<]+<", broken, part[0]),
        context.get("body", ""),
        flags=re.S,
    )


LAST_SHOWN = "grow_policy"  # of the parameters of trees, which begin with those to tune


def first_of_signature(
    app: Sphinx, what: str, name: str, of: Any, options: Any, signature: str, *_: Any
) -> tuple[str, str] | None:
    """Show the parameters to tune in the signature of a class of trees."""
    names = list(inspect.signature(of).parameters) if what == "class" else []
    if signature is None or LAST_SHOWN not in names:
        return None
    first_hidden = names[names.index(LAST_SHOWN) + 1]
    shown, _, _ = signature.partition(f", {first_hidden}=")
    return f"{shown}, ...)", ""


def fold_parameters(app: Sphinx, document: nodes.document) -> None:
    """Put the parameters of trees behind those to tune into a part that opens."""
    for name, body in document.findall(nodes.field):
        listed = body[0].children if name.astext() == "Parameters" else []
        names = [item[0].astext().partition(" ")[0] for item in listed]
        if LAST_SHOWN not in names:
            continue
        n_shown = names.index(LAST_SHOWN) + 1
        n_more = len(names) - n_shown
        head = f"<details><summary>{n_more} more parameters</summary>"
        others = nodes.definition_list("", *listed[n_shown:])
        body[0].children = listed[:n_shown]
        body += nodes.raw("", head, format="html")
        body += others
        body += nodes.raw("", "</details>", format="html")


def write_model_report(app: Any, error: Exception | None) -> None:
    """Write the report that guide/explaining.md shows, by the code of that page."""
    if error is not None or app.builder.format != "html":
        return
    page = (Path(app.srcdir) / "guide" / "explaining.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(code, names)
        if "report" in names:
            names["report"].save(Path(app.outdir) / "model_report.html")
            return


def setup(app: Sphinx) -> dict[str, Any]:
    """Repair what docutils reads wrong, and write what is no page of its own."""
    app.connect("doctree-read", without_mail)
    app.connect("doctree-read", link_names_in_tables)
    app.connect("doctree-read", fold_parameters)
    app.connect("autodoc-process-signature", first_of_signature)
    app.connect("html-page-context", break_names)
    app.connect("build-finished", write_model_report)
    return {"parallel_read_safe": True}
