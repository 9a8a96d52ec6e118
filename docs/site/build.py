"""``python docs/site/build.py``: the documentation as a site with search, in ``build/handbook``.

Pages are the Markdown files of the repository, under the addresses that they have there, so that the links
between them hold in both places; the results are a page a section. Added are the leaderboard, which is made
from the data in ``docs/results``, and the notebooks in ``examples/``. A broken link, or a page that no part
of the navigation lists, fails the build. The site loads nothing from elsewhere and has no inline scripts, so
that the api serves it under a strict policy.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import leaderboard
import navigation
import notebooks
import results

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = ROOT / "build"
PAGES, SITE, CONFIG = BUILD / "handbook-pages", BUILD / "handbook", BUILD / "zensical.toml"

COPIED = (
    "*.md",
    "docs/**/*.md",
    "docs/report.schema.json",
    "docs/pictures/*",
    "examples/**/*.md",
    "deploy/runbooks/*.md",
)
INLINE_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)
OUTSIDE = re.compile(r'<(?:link|script|img|iframe)\b[^>]*\b(?:href|src)="(?:https?:)?//[^"]*"')


def main() -> None:
    """Build the site, or end with what is wrong."""
    shutil.rmtree(PAGES, ignore_errors=True)
    shutil.rmtree(SITE, ignore_errors=True)
    pages = gather()
    unlisted = sorted(pages - set(navigation.listed(pages)))
    if unlisted:
        sys.exit("no part of docs/site/navigation.py lists " + ", ".join(unlisted))
    CONFIG.write_text(config(pages), encoding="utf-8")
    subprocess.run([zensical(), "build", "--strict", "--clean", "--config-file", str(CONFIG)], check=True)
    for page in sorted(SITE.rglob("*.html")):
        page.write_text(without_inline_scripts(page), encoding="utf-8")
    outside = [
        f"{page.relative_to(SITE)}: {found}"
        for page in SITE.rglob("*.html")
        for found in loads_from_outside(page)
    ]
    if outside:
        sys.exit("the site would load from elsewhere:\n" + "\n".join(outside))
    print(f"built {len(pages)} pages in {SITE.relative_to(ROOT)}")


def gather() -> set[str]:
    """Copy every page and picture, write those that are made, and return the pages' paths."""
    for pattern in COPIED:
        for file in ROOT.glob(pattern):
            _place(file.relative_to(ROOT)).write_bytes(file.read_bytes())
    _place(Path("docs/leaderboard.md")).write_text(
        leaderboard.page(ROOT / "docs" / "results"), encoding="utf-8"
    )
    whole = (ROOT / results.SOURCE).read_text(encoding="utf-8")
    places = results.anchors(whole)
    for page in PAGES.rglob("*.md"):
        text, path = page.read_text(encoding="utf-8"), str(page.relative_to(PAGES))
        if "results.md#" in text and path != results.SOURCE:
            page.write_text(results.moved(text, path, path, places), encoding="utf-8")
    for path, text in results.pages(whole).items():
        _place(Path(path)).write_text(text, encoding="utf-8")
    for file in sorted((ROOT / "examples").glob("*.ipynb")):
        notebooks.write(file, _place(file.relative_to(ROOT)).parent)
    for asset in (HERE / "assets").iterdir():
        _place(Path("assets") / asset.name).write_bytes(asset.read_bytes())
    return {str(file.relative_to(PAGES)) for file in PAGES.rglob("*.md")}


def _place(path: Path) -> Path:
    """Where a file goes among the pages; its folder is there then."""
    placed = PAGES / path
    placed.parent.mkdir(parents=True, exist_ok=True)
    return placed


def config(pages: set[str]) -> str:
    """The site's settings with the navigation over ``pages``; JSON's strings and lists are TOML's too."""
    nav = json.dumps(navigation.tree(pages, PAGES), ensure_ascii=False)
    nav = re.sub(r'\{"((?:[^"\\]|\\.)*)": ', r'{ "\1" = ', nav)
    return (HERE / "zensical.toml").read_text(encoding="utf-8").replace("nav = []", f"nav = {nav}")


def zensical() -> str:
    """The program beside this interpreter."""
    return str(Path(sys.executable).with_name("zensical"))


def without_inline_scripts(page: Path) -> str:
    """The page with each inline script in a file of its own, named by its content."""

    def moved(match: re.Match[str]) -> str:
        text = match[1]
        name = f"assets/inline/{hashlib.sha256(text.encode()).hexdigest()[:16]}.js"
        (SITE / name).parent.mkdir(parents=True, exist_ok=True)
        (SITE / name).write_text(text, encoding="utf-8")
        up = "../" * (len(page.relative_to(SITE).parts) - 1)
        return f'<script src="{up}{name}"></script>'

    return INLINE_SCRIPT.sub(moved, page.read_text(encoding="utf-8"))


def loads_from_outside(page: Path) -> Iterator[str]:
    """Every element that makes a browser fetch from another place; links that are followed by hand do not."""
    for found in OUTSIDE.findall(page.read_text(encoding="utf-8")):
        if 'rel="canonical"' not in found:
            yield found


if __name__ == "__main__":
    main()
