"""The results as pages: one a section of ``docs/results.md``, and a page that says which there are.

The file is one, as its tables are checked together; whoever reads the site opens the section that a link
names.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import PurePosixPath

SOURCE, FOLDER = "docs/results.md", "docs/results"
HEADING = re.compile(r"^(##+) (.+)$", re.MULTILINE)
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
ELSEWHERE = re.compile(r"^[a-z]+:|^/")


def pages(text: str) -> dict[str, str]:
    """Every page by its path: the list under the path of the whole, and each section under its own."""
    head, *sections = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    places = anchors(text)
    found, rows = {}, []
    for section in sections:
        title, _, rest = section[3:].partition("\n")
        path = f"{FOLDER}/{anchor(title)}.md"
        raised = HEADING.sub(lambda line: f"{line[1][1:]} {line[2]}", rest)
        found[path] = moved(f"# {title}\n{raised}", SOURCE, path, places)
        tables = rest.count("<!-- table ")
        rows.append(f"| [{title}]({posixpath.relpath(path, 'docs')}) | {tables} |")
    listed = "\n".join(["## The tables", "", "| section | tables |", "|---|---:|", *rows])
    return {SOURCE: moved(f"{head}{listed}\n", SOURCE, SOURCE, places), **found}


def anchors(text: str) -> dict[str, str]:
    """Where each heading has gone: the page of its section, and its place on it."""
    places, page = {}, SOURCE
    for level, title in HEADING.findall(text):
        name = anchor(title)
        if level == "##":
            page = f"{FOLDER}/{name}.md"
            places[name] = page
        else:
            places[name] = f"{page}#{name}"
    return places


def anchor(title: str) -> str:
    """The name of a heading in an address."""
    return re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-")


def moved(text: str, here: str, there: str, places: dict[str, str]) -> str:
    """A page of the repository as it is at another place, its links led to where their pages are."""

    def led(link: re.Match[str]) -> str:
        target = link[2]
        if ELSEWHERE.match(target):
            return link[0]
        path, _, name = target.partition("#")
        full = posixpath.normpath(str(PurePosixPath(here).parent / path)) if path else here
        if full == SOURCE and name:
            full, _, name = places[name].partition("#")
        to = posixpath.relpath(full, str(PurePosixPath(there).parent)) if full != there else ""
        return f"{link[1]}{to}{'#' + name if name else ''}{link[3]}"

    return LINK.sub(led, text)
