"""Texts of a pack, from the templates in the folder of this name."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

__all__ = ["fill"]

_TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).with_suffix("")),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    autoescape=False,  # none of them is HTML
)


def fill(name: str, /, **facts: object) -> str:
    """Write a text from the template ``<name>.j2``.

    Parameters
    ----------
    name : of the text.
    facts : what the template names; a name that is missing is an error.
    """
    return _TEMPLATES.get_template(f"{name}.j2").render(facts)
