"""What a file is by its first bytes. For what is no delimited text they say what to do with it."""

from __future__ import annotations

import re

_BYTES = (
    (
        b"PK\x03\x04",
        "a zip archive or a spreadsheet",
        "send the file inside, a sheet as CSV, a sparse matrix with the format npz",
    ),
    (b"PAR1", "a Parquet file", "send it with the format parquet"),
    (b"ARROW1", "an Arrow file", "write it as Parquet, and send it with the format parquet"),
    (b"SQLite format 3", "a SQLite database", "write its table as CSV"),
    (b"\x89HDF", "an HDF5 file", "write its table as CSV or Parquet"),
    (b"\xd0\xcf\x11\xe0", "an old Office file (.xls)", "save its sheet as CSV"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "unpack it, or pack it with gzip"),
    (b"Rar!", "a RAR archive", "unpack it, or pack it with gzip"),
    (b"\xfd7zXZ", "an xz archive", "unpack it, or pack it with gzip"),
    (b"BZh", "a bzip2 file, packed again", "pack it once"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard file, packed again", "pack it once"),
    (b"\x1f\x8b", "a gzip file, packed again", "pack it once"),
    (b"%PDF", "a PDF", "send the table itself, as CSV"),
    (b"\x89PNG", "a picture", "send the table itself, as CSV"),
    (b"\xff\xd8\xff", "a picture", "send the table itself, as CSV"),
    (b"\x93NUMPY", "a NumPy array", "send a matrix as npz"),
    (b"\x80\x04", "a Python pickle, which is not read", "write the graph as CSV or GraphML"),
    (b"\x80\x05", "a Python pickle, which is not read", "write the graph as CSV or GraphML"),
)
_TEXTS = (
    (rb"--[^\r\n]+\r?\nContent-Disposition:", "a multipart form", "send the file's bytes alone as the body"),
    (rb"%{1,2}MatrixMarket\b", "MatrixMarket", "send it with the format matrix_market"),
    (rb"(?s)(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)*<graphml\b", "GraphML", "send it with the format graphml"),
    (rb"(?s)(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)*<gexf\b", "GEXF", "send it with the format gexf"),
    (
        rb"<(\?xml|!doctype|html)\b",
        "an XML or HTML document",
        "send a list of edges, or a graph with the format graphml or the format gexf",
    ),
    (rb"[{\[]\s*(\"|\{|\[)", "JSON", "send it with the format node_link, or a list of edges"),
    (rb"(?s)((Creator|Version|comment|#)[^\n]*\n\s*)*graph\s*\[", "GML", "send it with the format gml"),
    (rb'"?_id"?,"?_labels"?,', "APOC's CSV of Neo4j", "send it with the format apoc_csv"),
    (rb"\*(Vertices|Network)\b", "Pajek", "send it with the format pajek"),
)
MARKED = 4096
"""How many bytes are looked at."""
_BEGIN = {
    own: re.compile(pattern)
    for own, pattern in (
        *((each, rb"<") for each in ("graphml", "gexf")),
        ("node_link", rb"[{\[]"),
        ("apoc_csv", rb'"?_id"?,'),
        ("pajek", rb"[%*]"),
        ("parquet", rb"PAR1"),
        ("npz", rb"PK"),
        ("matrix_market", rb"%"),
        ("gml", rb"(?:#[^\n]*\n\s*)*[A-Za-z]\w*\s*[\"\[\d+-]"),
    )
}
"""How a document of a format begins, comments included."""
_COMPILED = tuple((re.compile(pattern, re.IGNORECASE), what, mend) for pattern, what, mend in _TEXTS)


def otherwise(head: bytes, own: str = "") -> str | None:
    """Say what a file of another kind is. Its first bytes are those of something else; it says what to do,
    else None.

    ``own`` is the format that it is read as.
    """
    text = head[:MARKED].removeprefix(b"\xef\xbb\xbf").lstrip()
    named = [(what, mend) for mark, what, mend in _BYTES if head.startswith(mark)]
    named += [(what, mend) for pattern, what, mend in _COMPILED if pattern.match(text)]
    for what, mend in named:
        return None if own and f"format {own}" in mend else f"the file is {what}; {mend}"
    if (begins := _BEGIN.get(own)) and not begins.match(text):
        return f"the file does not begin as {own} does; a list of edges is sent with the format csv"
    return None
