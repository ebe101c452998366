"""The site that `make docs` builds, of the repository's own Markdown: pages, README, notebooks.

Pages stay where they are, so that links between them hold here and on a code host alike. What a
host has no use for is added while Sphinx reads them: the navigation, which is docs/README.md's
tables; the reference, from docstrings, in place of lists of names; charts of bench/results.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import ladder_charts  # noqa: E402
import warpkit  # noqa: E402
from docutils import nodes  # noqa: E402

project = "warpkit"
author = "the warpkit developers"
version = release = warpkit.__version__

extensions = ["sphinx.ext.autodoc", "numpydoc", "myst_nb"]
root_doc = "README"
include_patterns = ["*.md", "docs/**.md", "examples/*.ipynb"]
exclude_patterns = ["build", ".*", "SECURITY.md"]

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # docstrings say it
numpydoc_show_class_members = False
# Sections that are known, in order, parameters that there are, a summary of one line.
numpydoc_validation_checks = {
    *("GL03", "GL06", "GL07", "GL08", "PR02", "PR03", "PR04", "PR10", "SS01", "SS03", "SS06"),
}
numpydoc_validation_exclude = {r"\.Kernel$"}  # whose parameters are its calls'
myst_heading_anchors = 4
nb_execution_cache_path = str(ROOT / "build" / "docs-notebooks")
nb_execution_timeout = 300
nb_execution_raise_on_error = True

html_theme = "pydata_sphinx_theme"
html_title = f"warpkit {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
templates_path = ["_templates"]
html_additional_pages = {"index": "index.html"}
html_sidebars = {"**": ["pages.html"]}
html_show_sourcelink = False
html_theme_options = {
    "navbar_center": [],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": False,
    "footer_start": [],
    "footer_end": [],
}

CHARTS = {  # before which marks of which page
    "docs/ladder": {"ladder table": "reduce"},
    "docs/transposes": {"transpose ladder table": "transpose"},
    "docs/stencils": {"stencil ladder table": "stencil"},
    "docs/histograms": {"histogram ladder table": "histogram"},
}
# Where other projects have the page of a name.
ELSEWHERE = {
    "numpy": "https://numpy.org/doc/stable/reference/generated/{}.html",
    "scipy": "https://docs.scipy.org/doc/scipy/reference/generated/{}.html",
    "cupy": "https://docs.cupy.dev/en/stable/reference/generated/{}.html",
    "pandas": "https://pandas.pydata.org/docs/reference/api/{}.html",
    "dask": "https://docs.dask.org/en/stable/generated/{}.html",
}
COLOURS = "*Blue: the production kernel. Orange: other libraries'. Dashed: the rate of a copy.*"
LINK = re.compile(r"^\| \[([^]]+)\]\(([^)]+)\)", re.MULTILINE)


def navigation() -> str:
    """Tables of contents from docs/README.md: a caption for each of its sections."""
    index = (ROOT / "docs" / "README.md").read_text()
    parts = ["```{toctree}\n:hidden:\n\nAll pages <docs/README>\n```"]
    for section in index.split("\n## ")[1:]:
        caption = section.partition("\n")[0]
        entries = []
        for title, target in LINK.findall(section):
            page = (ROOT / "docs" / target).resolve().relative_to(ROOT).with_suffix("")
            entries.append(f"{title[0].upper()}{title[1:]} <{page}>")
        lines = ["```{toctree}", ":hidden:", f":caption: {caption}", "", *entries, "```"]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def reference(match: re.Match[str]) -> str:
    """A fence of names as a summary and their docstrings, after their module's."""
    module, *names = match[1].split()
    table = ["| | |", "|---|---|"]
    lines = [f".. currentmodule:: {module}"]
    for name in names:
        value = getattr(importlib.import_module(module), name)
        kind = "class" if isinstance(value, type) else "function"
        told = inspect.getdoc(value).partition("\n\n")[0].replace("\n", " ").replace("|", r"\|")
        table.append(f"| {{py:obj}}`~{module}.{name}` | {told} |")
        lines += ["", f".. auto{kind}:: {name}"]
        if kind == "class" and members(value):
            lines += [f"   :members: {', '.join(members(value))}"]
    told = f".. automodule:: {module}" if module != "warpkit" or "reduce" in names else ""
    summary, body = "\n".join(table), "\n".join(lines)
    return f"```{{eval-rst}}\n{told}\n```\n\n{summary}\n\n```{{eval-rst}}\n{body}\n```"


def members(value: type) -> list[str]:
    """Of a class and of its bases here; a named tuple's fields are told as its attributes."""
    own = [
        name
        for base in value.__mro__
        if base.__module__.startswith("warpkit")
        for name in vars(base)
    ]
    known = (name for name in dict.fromkeys(own) if not name.startswith("_"))
    return [name for name in known if name not in getattr(value, "_fields", ())]


def read(app: Any, page: str, source: list[str]) -> None:
    def unlinked(match: re.Match[str]) -> str:
        """Folders of the repository are no pages."""
        is_folder = (ROOT / page).parent.joinpath(match[2]).is_dir()
        return match[1] if is_folder else match[0]

    text = re.sub(r"\[([^\]\n]+)\]\(([\w./-]+)\)", unlinked, source[0])
    if page == root_doc:
        app.env.note_dependency(str(ROOT / "docs" / "README.md"))  # a new page is there at once
        text += "\n\n" + navigation()
    for mark, script in CHARTS.get(page, {}).items():
        picture = f"![The ladder, in GB/s](/build/docs-charts/ladder_{script}.svg)\n\n{COLOURS}"
        text = text.replace(f"<!-- {mark} -->", f"{picture}\n\n<!-- {mark} -->")
    source[0] = re.sub(r"^```names\n(.*?)^```$", reference, text, flags=re.M | re.S)


def missing(app: Any, env: Any, node: Any, inside: Any) -> Any:
    """What other projects document."""
    target = node["reftarget"]
    form = ELSEWHERE.get(target.partition(".")[0])
    if form is None or not is_there(target):
        return None
    return nodes.reference("", "", inside, internal=False, refuri=form.format(target))


def is_there(target: str) -> bool:
    """Whether a library has the name; only of those that are always installed that is known."""
    if not target.startswith(("numpy.", "scipy.")):
        return True
    try:
        pkgutil.resolve_name(target)
    except (AttributeError, ImportError):
        return False
    return True


def setup(app: Any) -> None:
    ladder_charts.draw_all(ROOT / "build" / "docs-charts")
    app.connect("source-read", read)
    app.connect("missing-reference", missing)
