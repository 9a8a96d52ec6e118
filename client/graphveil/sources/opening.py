"""Makes one file of whatever is uploaded. It lasts for as long as the upload takes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
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


def of_files(source: Source) -> bool:
    """Tell whether the source is a folder, a glob, or a prefix in a bucket, and no file."""
    if isinstance(source, Query):
        return False
    if bucket.named(source):
        return str(source).endswith("/")
    return Path(source).is_dir() or ("*" in str(source) and not Path(source).exists())


@contextmanager
def several(source: Source) -> Iterator[list[Path]]:
    """Yield the Parquet files of what is :func:`of_files`, each as it is; nothing is joined.

    Raises ClientError for a place without one, and for more than an upload may have.
    """
    assert not isinstance(source, Query)  # it is of files
    with ExitStack() as stack:
        place = source
        if bucket.named(source):
            place = stack.enter_context(tempfile.TemporaryDirectory(prefix="graphveil-"))
            bucket.download_parts(str(source), Path(place))
        found = parts.listed(place)
        if not 1 <= len(found) <= parts.MOST_PARTS:
            raise ClientError(
                f"{source} has {len(found)} parts *{parts.SUFFIX}; 1 to {parts.MOST_PARTS} can be sent"
            )
        yield found


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
