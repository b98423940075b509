"""Settings of the documentation site: ``make docs`` builds it into ``docs/_build/html``."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import generate

import depmax

project = "depmax"
author = "the depmax developers"
copyright = "the depmax developers"
release = version = depmax.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx-mathjax-offline",  # formulas are drawn without asking another host
    "sphinx_gallery.gen_gallery",
    "sphinx.ext.githubpages",  # a file .nojekyll, for hosts that leave out folders such as _static
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build"]
templates_path = ["_templates"]
default_role = "autolink"

myst_enable_extensions = ["colon_fence"]
myst_fence_as_directive = ["math"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"  # the docstrings name the types
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"  # the page is about one class
# The site is built without torch: classes are read, nothing is trained.
autodoc_mock_imports = [] if importlib.util.find_spec("torch") else ["torch"]
numpydoc_show_class_members = False  # the template of a class lists them

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "",  # all of them are run
    "within_subsection_order": "generate.gallery_order",
    "abort_on_example_error": True,
    "reset_modules": ("matplotlib", "generate.warnings_are_errors"),
    "reset_modules_order": "both",
    "backreferences_dir": "gallery/backreferences",  # pages of the reference list their examples
    "doc_module": "depmax",
    "reference_url": {"depmax": None},
    "min_reported_time": 1e9,  # how long a script took here says little elsewhere
    "write_computation_times": False,
    "download_all_examples": False,
    "show_signature": False,
    "thumbnail_size": (400, 240),
}

# Prompts and output are not copied.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos, .gp, .go"

html_theme = "pydata_sphinx_theme"
html_title = f"depmax {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
# Pages that stand by themselves have nothing to navigate.
html_sidebars = {page: [] for page in ("index", "start", "methods", "coming_from")}
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 5,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


def skip_foreign(
    app: Any, what: str, name: str, member: Any, skip: bool, options: Any
) -> bool | None:
    """Leave out what a class inherits from another library: its own site documents it."""
    module = getattr(member, "__module__", None) or ""
    foreign = callable(member) and not module.startswith("depmax")
    return True if foreign else None


def link_files_of_the_root(app: Any, name: str, source: list[str]) -> None:
    """Files beside ``docs`` are pages of the site too, under ``project``."""
    depth = name.count("/")
    for file in ("CONTRIBUTING", "CHANGELOG", "SECURITY"):
        page = "../" * depth + f"project/{file.lower()}.md"
        source[0] = source[0].replace(f"]({'../' * (depth + 1)}{file}.md", f"]({page}")


#: What formulas do not reach into: code, and the addresses of links.
NOT_FORMULAS = re.compile(r"(```.*?```|`[^`\n]*`|\]\([^)\n]*\))", re.S)


def typeset_indices(app: Any, name: str, source: list[str]) -> None:
    """Formulas are written in plain text, as K_ij or x^{k}: show indices and exponents as such."""
    if not name.startswith("mathematics/"):
        return
    parts = NOT_FORMULAS.split(source[0])
    for position in range(0, len(parts), 2):
        text = re.sub(r"(?<=[^\s_|])_(\{[^{}]*\}|\w+)", _tag("sub"), parts[position])
        parts[position] = re.sub(r"(?<=[^\s^|])\^(\{[^{}]*\}|\w+)", _tag("sup"), text)
    source[0] = "".join(parts)


def _tag(name: str) -> Callable[[re.Match[str]], str]:
    return lambda found: f"<{name}>{found[1].strip('{}')}</{name}>"


def setup(app: Any) -> None:
    """Write the pages and pictures that are made from the code, before Sphinx reads the folder."""
    generate.write_all(Path(app.srcdir))
    app.connect("autodoc-skip-member", skip_foreign)
    app.connect("source-read", link_files_of_the_root)
    app.connect("source-read", typeset_indices)
