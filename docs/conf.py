"""Settings of the documentation: `make docs` builds it, and a warning is an error."""

import functools
import inspect
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from auxmc_pipeline.catalogue import ROOT, studies
from auxmc_pipeline.judging.published import read_published
from auxmc_pipeline.report.findings_text import LookUp, fill
from experiments.foundations.models.densities import density_page

project = "auxmc"
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "examples", "tutorials"]  # the gallery has its own copy of the tutorials
templates_path = ["_templates"]
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["wide_tables.css"]
html_title = "auxmc"
html_show_copyright = False
html_show_sphinx = False
myst_heading_anchors = 3

# Scripts of tutorials run while the site is built, and again only when they change; their pages go to auto_tutorials.
sphinx_gallery_conf = {
    "examples_dirs": "tutorials",
    "gallery_dirs": "auto_tutorials",
    "filename_pattern": r"tutorial_\d",
    "within_subsection_order": "FileNameSortKey",
    "image_srcset": ["2x"],
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 10_000,  # a page with the time of one machine would never be the same again
}

autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "signature"
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False


def _skip(app: Any, what: str, name: str, obj: Any, skip: bool, options: Sequence[str]) -> bool | None:
    """Leaves out automatic texts: fields of named tuples, which the class describes, and what matplotlib adds."""
    del app, what, name, skip, options
    is_field = (getattr(obj, "__doc__", None) or "").startswith("Alias for field number")
    is_added = (getattr(obj, "__module__", None) or "").startswith("matplotlib.")
    return True if is_field or is_added else None


def _describe_fields(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Adds the comments above and next to the fields of a class to its description."""
    del app, options
    if what == "class" and obj.__module__.startswith("auxmc."):  # others are names given to types
        # The comments above a field, its name, the comment next to it.
        field = r"(?m)^((?:    # .+\n)*)    (\w+): .*?(?:  # ([^#\n]+))?$"
        found = re.findall(field, inspect.getsource(obj))
        texts = {name: " ".join([*re.findall("# (.+)", above), behind]) for above, name, behind in found}
        if any(texts.values()):
            lines += ["Attributes:", *(f"    {name}: {text}" for name, text in texts.items() if text), ""]


def _escape(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Lets docstrings write |x| and x* in mathematics, which are markup otherwise; code in backticks stays as it is."""
    del app, what, name, obj, options
    for place, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...", ":", "..")):
            bullet, rest = re.match(r"(\s*(?:\* )?)(.*)", line).groups()
            parts = rest.split("`")
            parts[::2] = [re.sub(r"([|*])", r"\\\1", part) for part in parts[::2]]
            lines[place] = bullet + "`".join(parts)


def _write_pages(app: Any) -> None:
    """Writes the table of densities, and a page for each study: its README."""
    pages = {
        f"studies/{name}": (ROOT / "experiments" / name / "README.md").read_text("utf-8")
        for name in studies()
    }
    for name, text in {**pages, "densities": density_page()}.items():
        page = Path(app.srcdir) / f"{name}.md"
        page.parent.mkdir(exist_ok=True)
        if not page.is_file() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")


@functools.cache
def _published() -> tuple[LookUp, str]:
    """The published results and the run that they come from."""
    kept = read_published()
    return LookUp(kept.judged, kept.numbers, kept.presets), kept.run_in_words


def _fill(app: Any, docname: str, content: list[str]) -> None:
    """Fills numbers into the findings, and links studies."""
    del app
    if docname == "findings":
        content[0] = re.sub(r"(?<=Study:)\s`(\w+)`", r" [`\1`](studies/\1.md)", content[0])
    if docname == "findings" or docname.startswith("studies/"):
        content[0] = fill(content[0], _published()[0], docname, _published()[1])


def setup(app: Any) -> None:
    """Connects the hooks above."""
    app.connect("builder-inited", _write_pages)
    app.connect("source-read", _fill)
    app.connect("autodoc-skip-member", _skip)
    app.connect("autodoc-process-docstring", _describe_fields, priority=300)
    app.connect("autodoc-process-docstring", _escape, priority=400)  # before napoleon adds markup of its own
