"""The whole report as Markdown. It is for a pull request, a wiki, or a terminal.

Pictures are left out: their figures stand in tables, or in the JSON report. Every text is escaped: it shows
as it is and starts nothing.
"""

from __future__ import annotations

from collections.abc import Iterable

from core.reports import blocks
from core.reports.html import wording
from core.reports.model import Report
from core.reports.sections import sections_of
from core.reports.text import escape, fenced, items, number, table

CURATOR_BANNER = (
    "> **Curator edition: confidential.** The comparison, the attacks, the tasks and the curators' scores "
    "are functions of the private graph. No budget was paid for them: they stay with the dataset's curators."
)
PUBLIC_BANNER = (
    "> **Public edition.** Nothing here reads the original graph beyond the operations that were paid for."
)
_STATUS = {
    "pending": "The comparison with the original is not finished; ask again later.",
    "failed": "The comparison with the original failed. The release and its guarantee stand.",
    "erased": "The comparison with the original was erased with the dataset.",
}


def markdown(report: Report, *, evaluation: str | None = None) -> str:
    """Write the report as GitHub-flavoured Markdown. It is UTF-8, with a line feed at its end. Deterministic.

    ``evaluation``: where a curator's report has no curator part, why: pending, failed or erased.
    """
    public = report.public
    method, dataset = escape(public.provenance.method_title), escape(wording.dataset_of(public))
    lines = [f"# Release report: {method} of {dataset}", ""]
    lines += [CURATOR_BANNER if report.curator else PUBLIC_BANNER, ""]
    if report.curator is None and evaluation in _STATUS:
        lines += [f"> {_STATUS[evaluation]}", ""]
    lines += written(sections_of(public, report.curator))
    return "\n".join([*lines, f"Report schema {report.schema_version}."]) + "\n"


def written(sections: Iterable[blocks.Section]) -> list[str]:
    """Write sections, a heading each. Those that have nothing but pictures are left out."""
    lines: list[str] = []
    for section in sections:
        if body := shown(section.blocks):
            lines += [f"## {escape(section.heading)}", "", *body]
    return lines


def shown(found: Iterable[blocks.Block]) -> list[str]:
    """Write blocks one after the other."""
    return [line for block in found for line in _block(block)]


def _block(block: blocks.Block) -> list[str]:
    match block:
        case blocks.Paragraph(text, lead, style, code):
            text = text if code else escape(text)
            line = f"**{escape(lead)}** {text}" if lead else text
            bold = style == "heading" or style.startswith("big")
            return [f"**{line}**" if bold else f"> {line}" if style in ("alert", "quote") else line, ""]
        case blocks.Items(texts, lead):
            return [*([escape(lead), ""] if lead and texts else []), *items(texts)]
        case blocks.Terms(rows):
            return items(f"{_text(term)}: {text}" for term, text in rows)
        case blocks.Facts(rows):
            return table(("", ""), [(name, _text(text)) for name, text in rows])
        case blocks.Table(_, columns, rows):
            return table(columns, [[_cell(cell) for cell in row] for row in rows])
        case blocks.Listing(command):
            return fenced(command, "sh")
        case blocks.Rating():
            return _rating(block)
        case blocks.Group(inner, _, title):
            body = shown(inner)
            return [f"### {escape(title)}", "", *body] if title and body else body
        case blocks.Fold(title, inner):
            body = shown(inner)
            return [f"**{escape(title.text)}** {escape(title.small)}".rstrip(), "", *body] if body else []
    # Pictures: their numbers stand in tables, or in the report's JSON.
    return []


def _rating(found: blocks.Rating) -> list[str]:
    score = found.score
    if score is None:
        return [
            f"**Not scored.** {escape(found.basis)}: there was nothing that it could be computed from.",
            "",
        ]
    lines = [f"**{score.value:.1f} of 10.** {escape(score.formula)}", ""]
    if score.expects:
        lines += [escape(score.expects), ""]
    parts = [(part.title, part.value, part.weight, part.explanation) for part in score.parts]
    return lines + table(("Part", "Value", "Weight", "How"), parts)


def _text(found: blocks.Text) -> str:
    return f"{found.text} ({found.small})" if found.small else found.text


def _cell(cell: blocks.Cell) -> object:
    """Write a cell as what :func:`core.reports.text.table` takes: texts, numbers, None for a dash."""
    match cell:
        case blocks.Text():
            return _text(cell)
        case blocks.Share(value) | blocks.Relative(value):
            return value
        case blocks.Near(value, error):
            return value if error is None else f"{number(value)} ± {error:.2g}"
        case blocks.Span(value, low, high):
            return f"{value:.3f} ({low:.3f} to {high:.3f})"
        case blocks.Size(size_bytes):
            return size_bytes
    return cell
