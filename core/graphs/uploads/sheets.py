"""The first sheet of a spreadsheet (.xlsx), as the text of a list."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

import fastexcel
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from core.graphs.uploads.packed import NotOne

MOST_CELLS = 1 << 24
_PLACE = re.compile(rb"""<(?:\w+:)?(?:row|c)\b[^<>]*?\sr\s*=\s*["']\s*([A-Za-z]*)(\d+)\s*["']""")


def first_sheet(path: Path, most: int) -> bytes:
    """Write the first sheet's cells as CSV. NotOne where it unpacks to more than ``most`` bytes.

    Numbers are written as they stand, dates by ISO 8601; rows without a cell are left out.
    """
    _check(path, most)
    try:
        sheet = fastexcel.read_excel(path.read_bytes()).load_sheet(0, header_row=None, dtypes="string")
        table = pa.Table.from_batches([sheet.to_arrow()])
    except (fastexcel.FastExcelError, pa.ArrowException) as error:
        why = str(error).partition("\n")[0]
        mend = "save its sheet as CSV, and send that"
        raise NotOne(f"this is a spreadsheet (.xlsx) that cannot be read ({why}); {mend}") from None
    # Without line breaks inside cells: what reads the list takes a line for a record.
    plain = [pc.replace_substring_regex(column, r"\s*[\r\n]+\s*", " ") for column in table.columns]
    table = pa.Table.from_arrays(plain, names=[str(place) for place in range(len(plain))])
    filled = np.zeros(table.num_rows, dtype=bool)
    for column in table.columns:
        filled |= pc.fill_null(pc.not_equal(column, ""), False).to_numpy()
    if not filled.any():
        raise NotOne("the first sheet of the spreadsheet is empty; put the list there, or send it as CSV")
    table = table.filter(pa.array(filled))
    made = io.BytesIO()
    pacsv.write_csv(table, made, pacsv.WriteOptions(include_header=False, quoting_style="needed"))
    return made.getvalue()


def _check(path: Path, most: int) -> None:
    """Refuse what unpacks to too much, or has cells far apart: a reader fills what lies between."""
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
        if sum(each.file_size for each in entries) > most:
            raise NotOne(f"the spreadsheet exceeds {most} bytes when unpacked; send its sheet as CSV")
        for entry in entries:
            if entry.filename.endswith(".xml"):
                wide = high = 0
                for found in _PLACE.finditer(archive.read(entry)):
                    # Nine digits are past MOST_CELLS already; more would only make the numbers long.
                    wide, high = max(wide, _number(found[1])), max(high, int(found[2][:9]))
                    if wide * high > MOST_CELLS:
                        problem = f"a sheet of the spreadsheet spans {high} rows and {wide} columns"
                        raise NotOne(f"{problem}; remove what stands apart, or send the list as CSV")


def _number(letters: bytes) -> int:
    """Count the column that letters name: AA is 27."""
    number = 0
    # Four letters are past the last column that a sheet can have (XFD).
    for letter in letters[:4].upper():
        number = number * 26 + letter - 64
    return number
