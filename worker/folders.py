"""Private folders of one attempt each. They are made for their owner only, and gone with the attempt."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def private_folder(path: Path) -> Iterator[Path]:
    """Make an empty private folder. Only this user can enter it; it is deleted with its content
    afterwards."""
    os.mkdir(path, 0o700)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def write_private(path: Path, content: bytes) -> None:
    """Write the content to a new private file. Only this user can read it."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
