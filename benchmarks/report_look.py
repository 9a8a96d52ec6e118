"""Looks at rendered reports in a browser: screenshots, overflow, blank pictures, and accessibility.

    python -m benchmarks.report_look REPORT.html... [--to FOLDER] [--axe axe.min.js] [--chromium PATH]

Each page is opened at desktop and phone width, light and dark, with every fold open and closed. Exit code 1
when a page is wider than its window, a picture is empty, a cell's text is squeezed into a column of letters,
anything is fetched from elsewhere, the console complains, or axe (WCAG 2.1 A and AA, best practices) finds a
violation.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

WIDTHS = {"desktop": 1280, "phone": 390}
SCHEMES = ("light", "dark")
OPEN = "document.querySelectorAll('details').forEach(d => d.open = true)"
OVERFLOW = """() => {
  const page = document.scrollingElement;
  if (page.scrollWidth <= page.clientWidth) return [];
  const wide = [...document.querySelectorAll('body *')].filter(e =>
    e.getBoundingClientRect().right > page.clientWidth + 1 && !e.closest('.scroll, .hidden, .skip'));
  return wide.slice(0, 5).map(e => e.tagName + '.' + (e.getAttribute('class') || ''));
}"""
# A picture without a drawn mark, or whose text leaves its frame, is a broken one.
BLANK = """() => [...document.querySelectorAll('svg')].filter(s => {
  const box = s.getBoundingClientRect();
  const marks = [...s.querySelectorAll('.mark, .line, .bar, .node, .fill, .needle, .ring')];
  return box.width < 40 || box.height < 20 || !marks.some(m => {
    const b = m.getBoundingClientRect(); return b.width + b.height > 0; });
}).map(s => s.querySelector('title').textContent)"""
CLIPPED = """() => [...document.querySelectorAll('svg')].flatMap(s => {
  const box = s.getBoundingClientRect();
  return [...s.querySelectorAll('text')].filter(t => {
    const b = t.getBoundingClientRect();
    return b.left < box.left - 1 || b.right > box.right + 1
      || b.top < box.top - 1 || b.bottom > box.bottom + 1;
  }).map(t => s.querySelector('title').textContent + ': ' + t.textContent);
})"""
# A cell whose text stands in a column of a few letters.
SQUEEZED = """() => [...document.querySelectorAll('td, th')].filter(c => {
  const b = c.getBoundingClientRect();
  return c.textContent.trim().length > 8 && b.height > 100 && b.width < 60;
}).slice(0, 5).map(c => c.textContent.trim().slice(0, 40))"""
CHECKS = {"overflow": OVERFLOW, "blank": BLANK, "clipped text": CLIPPED, "squeezed": SQUEEZED}
AXE = """async () => (await axe.run(document, {runOnly: [
    'wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']}))
  .violations.map(v => v.id + ' (' + v.impact + '): ' + v.nodes.slice(0, 3).map(n => n.target + ' ' +
  (n.any[0] ? n.any[0].message : '')).join('; '))"""


def main() -> int:
    """Prints a line a view, and what is wrong with it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("reports", nargs="+", type=Path)
    parser.add_argument("--to", type=Path, help="folder for the screenshots")
    parser.add_argument("--axe", type=Path, help="axe.min.js of the npm package axe-core")
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    options = parser.parse_args()
    wrong = 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=options.chromium, args=["--no-sandbox"])
        for report in options.reports:
            for device, width in WIDTHS.items():
                for scheme in SCHEMES:
                    faults = list(look(browser, report, device, width, scheme, options))
                    wrong += len(faults)
                    print(f"{report.name} {device} {scheme}: {'; '.join(faults) or 'sound'}")
        browser.close()
    return int(wrong > 0)


def look(
    browser: Browser, report: Path, device: str, width: int, scheme: Any, options: argparse.Namespace
) -> Iterator[str]:
    """What is wrong with one view of one page."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    asked: list[str] = []
    said: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.goto(report.resolve().as_uri())
    if options.to:
        options.to.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=options.to / f"{report.stem}-{device}-{scheme}.png", full_page=True)
    for state in ("folded", "open"):
        if state == "open":
            page.evaluate(OPEN)
        for name, script in CHECKS.items():
            if found := page.evaluate(script):
                yield f"{state}, {name}: {found}"
    yield from (f"fetched {url}" for url in asked[1:])
    yield from (f"console: {text}" for text in said)
    if options.axe:
        page.add_script_tag(path=options.axe)
        yield from (f"axe {found}" for found in page.evaluate(AXE))
    context.close()


if __name__ == "__main__":
    sys.exit(main())
