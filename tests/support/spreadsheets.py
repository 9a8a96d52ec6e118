"""Spreadsheets (.xlsx) for tests: the few parts that a reader needs, written by hand."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELATED = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
Cell = str | int | float | bool | tuple[float] | None
"""A tuple is a date, as the days since 1900 that spreadsheets count."""


def xlsx(*sheets: Sequence[Sequence[Cell]] | str) -> bytes:
    """Write the sheets: rows of cells, or the XML of rows as it is to stand there."""
    numbers = range(1, len(sheets) + 1)
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="xml" ContentType="application/xml"/></Types>',
        "_rels/.rels": _relations([("rId1", "officeDocument", "xl/workbook.xml")]),
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_RELATED}"><sheets>'
        + "".join(f'<sheet name="Sheet {n}" sheetId="{n}" r:id="rId{n}"/>' for n in numbers)
        + "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": _relations(
            [
                *((f"rId{n}", "worksheet", f"worksheets/sheet{n}.xml") for n in numbers),
                ("rId999", "styles", "styles.xml"),
            ]
        ),
        "xl/styles.xml": f'<styleSheet xmlns="{_MAIN}"><cellXfs count="2"><xf numFmtId="0"/>'
        '<xf numFmtId="14" applyNumberFormat="1"/></cellXfs></styleSheet>',
    }
    for number, sheet in zip(numbers, sheets, strict=True):
        rows = sheet if isinstance(sheet, str) else _rows(sheet)
        parts[f"xl/worksheets/sheet{number}.xml"] = (
            f'<worksheet xmlns="{_MAIN}"><sheetData>{rows}</sheetData></worksheet>'
        )
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, f'<?xml version="1.0" encoding="UTF-8"?>{content}')
    return made.getvalue()


def _relations(found: Sequence[tuple[str, str, str]]) -> str:
    items = "".join(
        f'<Relationship Id="{key}" Type="{_RELATED}/{kind}" Target="{target}"/>'
        for key, kind, target in found
    )
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{items}</Relationships>'


def _rows(rows: Sequence[Sequence[Cell]]) -> str:
    return "".join(
        f'<row r="{number}">'
        + "".join(_cell(f"{chr(65 + place)}{number}", cell) for place, cell in enumerate(row))
        + "</row>"
        for number, row in enumerate(rows, start=1)
    )


def _cell(place: str, cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, str):
        return f'<c r="{place}" t="inlineStr"><is><t xml:space="preserve">{cell}</t></is></c>'
    if isinstance(cell, tuple):
        return f'<c r="{place}" s="1"><v>{cell[0]}</v></c>'
    kind = ' t="b"' if isinstance(cell, bool) else ""
    return f'<c r="{place}"{kind}><v>{cell:g}</v></c>'
