"""Notebooks as pages of the site: their text, code and printed output, in Markdown."""

from __future__ import annotations

from pathlib import Path

import nbformat
from nbconvert import MarkdownExporter


def write(notebook: Path, folder: Path) -> None:
    """Write a notebook's page and its pictures into ``folder``; outputs are those that it was saved with."""
    text, resources = MarkdownExporter().from_notebook_node(
        nbformat.read(notebook, as_version=4), resources={"output_files_dir": f"{notebook.stem}_files"}
    )
    (folder / f"{notebook.stem}.md").write_text(text, encoding="utf-8")
    for name, data in resources["outputs"].items():
        picture = folder / name
        picture.parent.mkdir(parents=True, exist_ok=True)
        picture.write_bytes(data)
