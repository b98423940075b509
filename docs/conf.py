"""Settings of the documentation site: ``make docs`` builds it into ``docs/_build/html``."""

from __future__ import annotations

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
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build"]
templates_path = ["_templates"]

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
myst_fence_as_directive = ["math"]

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_title = "depmax"
html_static_path = ["_static"]
html_theme_options = {"show_toc_level": 2, "navigation_with_keys": False}
