"""Formats of several files: a folder of them, packed into one archive."""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MEDIA_TYPE = "application/zip"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the same bytes for the same graph, whenever it is written


@contextmanager
def archived(path: Path) -> Iterator[Path]:
    """Yield an empty folder to be archived. What stands in it afterwards is packed into the archive at
    ``path``.

    Names keep their order. What Parquet has compressed is stored as it is.
    """
    with tempfile.TemporaryDirectory(dir=path.parent) as made:
        folder = Path(made)
        yield folder
        with zipfile.ZipFile(path, "w") as archive:
            for each in sorted(folder.iterdir()):
                entry = zipfile.ZipInfo(each.name, _EPOCH)
                entry.compress_type = (
                    zipfile.ZIP_STORED if each.suffix == ".parquet" else zipfile.ZIP_DEFLATED
                )
                entry.external_attr = 0o644 << 16
                # How long an entry becomes is not known before: it may pass what 32 bits count.
                with each.open("rb") as source, archive.open(entry, "w", force_zip64=True) as target:
                    shutil.copyfileobj(source, target, 1 << 20)
