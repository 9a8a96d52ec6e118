"""Writes sections of a page as HTML. Every text is escaped, by :class:`markupsafe.Markup`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from markupsafe import Markup, escape

from core.reports import blocks
from core.reports.html import wording
from graphveil.pages import numbers
from graphveil.pages.render import environment

NAMES = {
    "original": "Original",
    "synthetic": "Synthetic",
    "copied": "Copied",
    "guess": "Guessing",
    "paid": "Paid for",
}
SMALL = Markup(' <span class="small">{}</span>')
NUMBER = re.compile(r"(?:[±<>]\s)?\d|–?$")
TICKED = re.compile("`([^`]+)`")
MAX_TOGETHER = 32
"""So many letters of a name stay on one line."""


def written(sections: Iterable[blocks.Section]) -> Markup:
    """Write each section under its title."""
    made = Markup('<section id="{}">\n<h2>{}</h2>\n{}</section>\n')
    return _joined(made.format(each.id, each.heading, shown(each.blocks)) for each in sections)


def shown(found: Iterable[blocks.Block]) -> Markup:
    """Write blocks one after the other."""
    return _joined(_block(block) for block in found)


def _joined(parts: Iterable[Markup]) -> Markup:
    return Markup("".join(parts))


def _block(block: blocks.Block) -> Markup:
    match block:
        case blocks.Paragraph():
            return _paragraph(block)
        case blocks.Items(texts, lead):
            rows = _joined(Markup("<li><p>{}</p></li>").format(text) for text in texts)
            content = Markup("<p>{}</p>\n").format(lead) if lead and texts else Markup("")
            return content + Markup('<ul class="notices">{}</ul>\n').format(rows) if rows else Markup("")
        case blocks.Terms(rows):
            content = _joined(_term(term, text) for term, text in rows)
            return Markup('<dl class="explained two">\n{}</dl>\n').format(content)
        case blocks.Facts(rows):
            content = _joined(_fact(name, text) for name, text in rows)
            return Markup('<dl class="facts">\n{}</dl>\n').format(content)
        case blocks.Table():
            return _table(block)
        case blocks.Listing(lines):
            return Markup("<pre>{}</pre>\n").format(lines)
        case blocks.Pictures(draw, title, wide):
            made = _joined(_macros().figure(figure) for figure in draw())
            style = "figures two" if wide else "figures"
            head = Markup("<h3>{}</h3>\n").format(title) if title else Markup("")
            return head + Markup('<div class="{}">{}</div>\n').format(style, made) if made else made
        case blocks.Drawn(svg, keys, style):
            legend = _joined(Markup('<span class="key {}">{}</span> ').format(*key) for key in keys)
            content = Markup('<p class="legend">{}</p>').format(legend) if keys else legend
            return Markup('<div class="{}">{}{}</div>\n').format(style, svg, content)
        case blocks.Rating():
            return _rating(block)
        case blocks.Group(inner, style, title, name):
            head = Markup("<h3>{}</h3>\n").format(title) if title else Markup("")
            body = head + shown(inner)
            opened = Markup('<div class="{}" id="{}">' if name else '<div class="{}">')
            return opened.format(style, name) + body + Markup("</div>\n") if style else body
        case blocks.Fold(title, inner, opened_first):
            made = Markup('<details class="keep relation"{}><summary>{}</summary>\n{}</details>\n')
            body = shown(inner)
            return made.format(Markup(" open" * opened_first), _text(title), body) if body else body


@lru_cache(maxsize=1)
def _macros() -> Any:
    return environment().get_template("figures.html").make_module({"names": NAMES})


def _paragraph(found: blocks.Paragraph) -> Markup:
    text = escape(found.text)
    # Escaped by now: only what is put around it here is HTML.
    if found.code:
        text = Markup(TICKED.sub(r"<code>\1</code>", text))
    if found.lead:
        text = Markup("<strong>{}</strong> {}").format(found.lead, text)
    if found.style == "quote":
        return Markup("<blockquote>{}</blockquote>\n").format(text)
    # Colour tells nothing to who does not see it.
    role = Markup(' role="note"') if found.style == "alert" else ""
    style = Markup(' class="{}"').format(found.style) if found.style else ""
    return Markup("<p{}{}>{}</p>\n").format(style, role, text)


def _term(term: blocks.Text, text: str) -> Markup:
    name = Markup(' id="metric-{}"').format(term.metric) if term.metric else ""
    small = Markup(" <code>{}</code>").format(term.small) if term.small else ""
    return Markup("<div{}><dt>{}{}</dt><dd>{}</dd></div>\n").format(name, term.text, small, text)


def _fact(name: str, text: blocks.Text) -> Markup:
    words = Markup(' class="words"') if len(text.text) > 12 else ""
    small = Markup('<span class="small">{}</span>').format(text.small) if text.small else ""
    return Markup("<div><dt>{}</dt><dd{}>{}{}</dd></div>\n").format(name, words, text.text, small)


def _table(found: blocks.Table) -> Markup:
    if not found.rows:
        return Markup("")
    numeric = [all(map(_numeric, column)) for column in zip(*found.rows, strict=True)]
    styles = [_num(each) for each in numeric]
    pairs = zip(styles, found.columns, strict=True)
    head = Markup("".join(f'<th scope="col"{style}>{escape(column)}</th>' for style, column in pairs))
    body = _joined(_row(row, styles) for row in found.rows)
    # It takes the focus, so that the keyboard can scroll what is wider than the page.
    table = Markup(
        '<div class="scroll" tabindex="0" role="group" aria-label="{}"><table>\n'
        "<thead><tr>{}</tr></thead>\n<tbody>\n{}</tbody></table></div>\n"
    ).format(found.caption, head, body)
    if len(found.rows) <= found.most:
        return table
    return Markup('<details class="keep"><summary>{} {}</summary>{}</details>\n').format(
        numbers.plain(len(found.rows)), found.what, table
    )


def _numeric(cell: blocks.Cell) -> bool:
    """Tell numbers, also as texts, from words: they stand at the right of a column."""
    if isinstance(cell, bool | blocks.Text):
        return False
    return not isinstance(cell, str) or NUMBER.match(cell) is not None


def _row(row: Sequence[blocks.Cell], styles: Sequence[str]) -> Markup:
    """Write a row; there are many, and all that is put together here is escaped."""
    first, *rest = (f"{style}>{_cell(cell)}" for style, cell in zip(styles, row, strict=True))
    cells = "".join(f"<td{each}</td>" for each in rest)
    return Markup(f'<tr><th scope="row"{first}</th>{cells}</tr>\n')


def _num(numeric: bool) -> Markup:
    return Markup(' class="num"' if numeric else "")


def _cell(cell: blocks.Cell) -> Markup:
    match cell:
        # Before all numbers, of which True is one.
        case bool():
            return Markup("yes" if cell else "no")
        case str():
            return escape(cell)
        case blocks.Text():
            return _text(cell)
        case blocks.Share(value):
            return numbers.percent(value)
        case blocks.Relative(value):
            return numbers.relative(value)
        case blocks.Near(value, error):
            return numbers.number(value) + (
                SMALL.format(f"± {numbers.plain(error)}") if error is not None else ""
            )
        case blocks.Span(value, low, high, percent):
            write = numbers.percent_text if percent else numbers.plain
            own = numbers.percent(value) if percent else numbers.number(value)
            return own + SMALL.format(f"[{write(low)}, {write(high)}]")
        case blocks.Size(size_bytes):
            element = Markup('<data value="{0}" title="{0} bytes">{1}</data>')
            return element.format(size_bytes, numbers.size(size_bytes))
    return numbers.number(cell)


def _text(found: blocks.Text) -> Markup:
    text = escape(found.text)
    if found.metric:
        text = Markup('<a href="#metric-{}">{}</a>').format(found.metric, text)
    elif found.code:
        # A short name that breaks over lines would read as two.
        kept = " together" if len(found.text) <= MAX_TOGETHER and " " not in found.text else ""
        text = Markup('<code class="digest{}">{}</code>').format(kept, text)
    return text + (SMALL.format(found.small) if found.small else "")


def _rating(found: blocks.Rating) -> Markup:
    score = found.score
    if score is None:
        return Markup(
            '<div class="scored"><p class="unscored">–<span class="hidden"> not scored</span></p>'
            "<p>{}: not scored.</p></div>\n"
        ).format(found.basis)
    parts = _joined(
        Markup(
            '<li><span>{0}</span> <meter class="{1}" min="0" max="1" value="{2}" aria-label="{0}">{3}'
            "</meter> <b>{4}</b></li>\n"
        ).format(
            part.title,
            "poor" if found.unbounded else wording.level(part.value),
            part.value,
            numbers.percent_text(part.value),
            f"{part.value:.2f}",
        )
        for part in score.parts
    )
    made = [
        (
            blocks.Text(f"{part.title}: {numbers.plain(part.value)}, weight {numbers.plain(part.weight)}"),
            part.explanation,
        )
        for part in score.parts
    ]
    said = [
        blocks.Paragraph(f"{found.basis}."),
        *([blocks.Paragraph(score.expects, style="small")] if score.expects else []),
    ]
    how = Markup('<details class="keep"><summary>How the {} score is computed</summary>\n{}</details>\n')
    return Markup('<div class="scored">{}<div>{}<ul class="parts">\n{}</ul></div></div>\n{}').format(
        found.dial,
        shown(said),
        parts,
        how.format(found.name.lower(), shown([blocks.Paragraph(score.formula), blocks.Terms(made)])),
    )
