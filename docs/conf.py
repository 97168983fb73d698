"""How Sphinx builds these pages: offline, from Markdown, with a warning as an error."""

from importlib.metadata import version as version_of

from innkeeper.prompt import Trace, plan

project = "Innkeeper"
author = "The Innkeeper authors"
copyright = author
version = release = version_of("innkeeper")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build", "adr/template.md"]
myst_enable_extensions = ["colon_fence", "deflist", "fieldlist"]
myst_heading_anchors = 3

# Docstrings write `names` in single backticks.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
napoleon_use_ivar = True

html_theme = "furo"
html_title = "Innkeeper"
html_copy_source = False
html_show_sphinx = False

plan.Trace = Trace  # type: ignore[attr-defined] # what signatures name has to be there, not only for type checkers
