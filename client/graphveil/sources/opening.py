"""Makes one file of whatever is uploaded. It lasts for as long as the upload takes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from graphveil.errors import ClientError
from graphveil.sources import bucket, parts, query
from graphveil.sources.query import Query

Source = Path | str | Query
"""A file; a folder of Parquet parts; ``s3://bucket/key``, or ``s3://bucket/prefix/`` of parts; a query."""


@contextmanager
def opened(source: Source) -> Iterator[Path]:
    """Yield the path of one file with the content.

    It is the source's; what was made of it is removed at the end. Raises ClientError where there is nothing,
    or nothing that can be read, and where a library is missing.
    """
    if not isinstance(source, Query) and not bucket.named(source):
        path = Path(source)
        if path.is_file():
            yield path
            return
        if not path.is_dir():
            raise ClientError(f"there is no file or folder {path}")
    with tempfile.TemporaryDirectory(prefix="graphveil-") as folder:
        yield _made(source, Path(folder))


def _made(source: Source, folder: Path) -> Path:
    if isinstance(source, Query):
        return query.write(source, folder / "query.parquet")
    if not bucket.named(source):
        return parts.joined(Path(source), folder / "parts.parquet")
    if not str(source).endswith("/"):
        return bucket.download(str(source), folder)
    (folder / "parts").mkdir()
    bucket.download_parts(str(source), folder / "parts")
    return parts.joined(folder / "parts", folder / "parts.parquet", called=str(source))
