"""Fills in page templates, deterministically.

They become self-contained documents, the same bytes for the same content.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from graphveil.pages import numbers

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).parent / "templates"


def page(template: str, content: Mapping[str, Any]) -> str:
    """Fill in the named template; every text is escaped."""
    return _environment().get_template(template).render(content)


@lru_cache(maxsize=1)
def _environment() -> Environment:
    return environment()


def environment(*more: Path) -> Environment:
    """Make an environment of these and the caller's templates. The caller's are in folders of its own."""
    import jinja2

    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader([*more, TEMPLATES]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"number": numbers.number, "percent": numbers.percent, "plain": numbers.plain}
    made.globals["style"] = Markup((TEMPLATES / "report.css").read_text(encoding="utf-8"))
    return made
