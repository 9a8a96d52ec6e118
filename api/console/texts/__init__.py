"""Every text of the console, by name. There is one file for a language. Texts of problems are those of the
API."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
LANGUAGE = "en"


@cache
def catalogue(language: str = LANGUAGE) -> dict[str, str]:
    """Load all texts of a language: ``page.name`` to the text."""
    with (FOLDER / f"{language}.toml").open("rb") as file:
        pages = tomllib.load(file)
    return {f"{page}.{name}": text for page, texts in pages.items() for name, text in texts.items()}


def text(name: str, /, **values: object) -> str:
    """Return the text of that name with its ``{values}`` filled in. Not HTML: the page escapes it.

    KeyError for a text that there is not, or a value that it names and does not get.
    """
    return catalogue()[name].format(**values) if values else catalogue()[name]


def worded(group: str, name: str) -> str:
    """Return the text of ``group.name``. It is the name itself, in words, where the catalogue has none."""
    return catalogue().get(f"{group}.{name}", name.replace("_", " "))
