"""A folder of Parquet parts as one file. Tools that compute in parallel write such parts."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING

from graphveil.errors import ClientError
from graphveil.sources.libraries import library

if TYPE_CHECKING:
    import pyarrow as pa

SUFFIX = ".parquet"
MOST_PARTS = 999
"""So many files may an upload of a dataset in parts have."""


def listed(source: Path | str) -> list[Path]:
    """List the Parquet files of a folder, those of folders inside too, or of a glob such as ``"ties/a*/*"``.

    They come in name order. Names that begin with a dot or an underscore are left out, as engines do. Nothing
    for what is neither. What a folder's name says of its rows (``year=2026``) is no column of theirs.
    """
    path = Path(source)
    if path.is_dir():
        root, found = path, list(path.rglob(f"*{SUFFIX}"))
    elif "*" in str(source) and not path.exists():
        fixed = [*itertools.takewhile(lambda name: "*" not in name, path.parts)]
        root = Path(*fixed)
        matched = list(root.glob("/".join(path.parts[len(fixed) :])))
        found = [file for each in matched for file in (each.rglob(f"*{SUFFIX}") if each.is_dir() else [each])]
    else:
        return []
    return sorted({each for each in found if each.suffix == SUFFIX and _shown(each.relative_to(root))})


def _shown(path: Path) -> bool:
    return not any(name.startswith((".", "_")) for name in path.parts)


def joined(folder: Path, path: Path, *, called: str | None = None) -> Path:
    """Join the folder's Parquet files in name order.

    The rows of all ``*.parquet`` go to one file. One row group is held at a time. Raises ClientError for a
    folder without a part, for parts whose columns differ, and for folders inside, whose names would be
    columns. ``called``: the folder's name in messages.
    """
    pq = library("pyarrow.parquet", "parquet")
    name = called or str(folder)
    inner = [each for each in folder.iterdir() if each.is_dir() and _shown(each.relative_to(folder))]
    if inner:
        raise ClientError(f"{name} has folders inside ({inner[0].name}); write the parts without partitions")
    parts = listed(folder)
    if not parts:
        raise ClientError(f"{name} has no part *{SUFFIX}")
    if len(parts) == 1:
        return parts[0]
    import pyarrow

    try:
        schema = _schema(pq, parts[0])
        with pq.ParquetWriter(path, schema) as whole:
            for part in parts:
                if not _schema(pq, part).equals(schema):
                    raise ClientError(f"{part.name} has other columns than {parts[0].name}")
                with pq.ParquetFile(part) as file:
                    for group in range(file.num_row_groups):
                        whole.write_table(file.read_row_group(group).replace_schema_metadata(None))
    except (pyarrow.ArrowException, OSError) as error:
        raise ClientError(f"the parts of {name} cannot be read: {error}") from error
    return path


def _schema(pq: object, part: Path) -> pa.Schema:
    import pyarrow.parquet

    schema: pa.Schema = pyarrow.parquet.read_schema(part).remove_metadata()
    return schema
