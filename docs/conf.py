"""How Sphinx makes the site; `make docs` calls it on a copy with the generated pages."""

import re

from numpydoc.docscrape import NumpyDocString

import carrysave

project = "carrysave"
copyright = "the carrysave authors"
release = carrysave.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc", "carrysave.docs.words"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
html_theme = "furo"
html_title = f"carrysave {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = [("versions.js", {"defer": "defer"})]
html_show_sphinx = False
html_copy_source = False
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
suppress_warnings = ["misc.highlighting_failure"]  # shell commands with ... in them
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
numpydoc_show_class_members = False


NumpyDocString.sections["Members"] = []  # ours, of ports and fields


def _members(app, what, name, obj, options, lines):  # type: ignore[no-untyped-def]
    """Give numpydoc, which knows no ports, our section Members as Attributes."""
    for number, line in enumerate(lines[:-1]):
        if line == "Members" and re.fullmatch("-+", lines[number + 1]):
            lines[number : number + 2] = ["Attributes", "----------"]


def setup(app):  # type: ignore[no-untyped-def]
    """Come before numpydoc."""
    app.connect("autodoc-process-docstring", _members, priority=100)
