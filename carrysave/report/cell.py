"""Results as a cell of a notebook: tables and pictures, without scripts or styles of their own."""

import base64
from collections.abc import Mapping

from markupsafe import Markup

from carrysave.report.page import TEMPLATES, Page, Picture, WhatIf, described

__all__ = ["render"]

_ROWS = 30
"""Rows of a table at most."""


def render(page: Page, pictures: Mapping[str, bytes]) -> str:
    """Return the HTML of a page without its charts, whose place pictures take, and sliders.

    Parameters
    ----------
    page : what is shown.
    pictures : SVG by name, beside those of the page.
    """
    drawn = [part.svg for part in page.parts if isinstance(part, Picture)]
    shown = dict.fromkeys([*pictures.values(), *drawn])
    parts = [
        described(number, part, _ROWS)
        for number, part in enumerate(page.parts)
        if not isinstance(part, Picture | WhatIf)
    ]
    urls = [base64.b64encode(svg).decode() for svg in shown]
    says = [part.says for part in page.parts if isinstance(part, Picture)]
    return Markup(
        TEMPLATES.get_template("cell.html.j2").render(
            page=page, parts=parts, urls=urls, says="; ".join(dict.fromkeys(says)) or page.title
        )
    )
