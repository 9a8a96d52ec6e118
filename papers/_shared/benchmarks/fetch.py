"""Public data from where they are published, by their SHA-256 where it is known.

A file is downloaded beside its place, checked, and only then put there: what has another digest is deleted. A
download that was cut goes on where it stopped if a known digest will tell that the parts fit; else it begins
anew. Where no digest is known, the first download's is printed and kept in FOLDER/SHA256SUMS, and a later one
must have it.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import shutil
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any

import httpx

from papers._shared.benchmarks.published_data import OF_PAPER, Published

SUMS = "SHA256SUMS"
SECONDS = 60.0
"""How long a server may say nothing."""


class NotFetched(ValueError):
    """A file that is not there now; its text says what to do."""


def fetched(each: Published, folder: Path, timeout_seconds: float = SECONDS) -> str:
    """Put the file in its place, and tell what was done. NotFetched where it could not be had."""
    target = folder / each.path
    if target.exists():
        return f"{each.path}: is there"
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.part")
    _download(each, part, target, timeout_seconds)
    with part.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    expected = each.sha256 or _sums(folder).get(each.path)
    if expected and digest != expected:
        part.unlink()
        raise NotFetched(
            f"{each.url} has SHA-256 {digest}, and {expected} was expected; nothing is kept. It was changed "
            f"where it is published, or on its way; {_by_hand(each, target)}"
        )
    _keep(each, part, target)
    if expected:
        return f"{each.path}: SHA-256 as expected"
    with (folder / SUMS).open("a", encoding="utf-8") as file:
        file.write(f"{digest}  {each.path}\n")
    return f"{each.path}: SHA-256 {digest}, kept in {SUMS}: compare it with another's"


def _download(each: Published, part: Path, target: Path, timeout_seconds: float) -> None:
    begun = part.stat().st_size if part.exists() and each.sha256 else 0
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={begun}-"} if begun else {})
    try:
        with httpx.stream(
            "GET", each.url, headers=headers, follow_redirects=True, timeout=timeout_seconds
        ) as answer:
            if answer.status_code == httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE:
                return  # all of it is there; its digest tells whether it is right
            if answer.is_error:
                raise NotFetched(f"{each.url} answers {answer.status_code}; {_by_hand(each, target)}")
            goes_on = answer.status_code == httpx.codes.PARTIAL_CONTENT
            with part.open("ab" if goes_on else "wb") as file:
                for piece in answer.iter_raw():
                    file.write(piece)
    except httpx.HTTPError as error:
        raise NotFetched(
            f"{each.url} could not be read ({error or type(error).__name__}): is this machine on line? "
            f"{_by_hand(each, target)}"
        ) from error


def _by_hand(each: Published, target: Path) -> str:
    what = {"plain": "as it is", "gzip": "gzipped", "archive": "unpacked"}[each.form]
    return f"the file may be put at {target} by hand, {what}."


def _sums(folder: Path) -> dict[str, str]:
    """The digests of first downloads, by path."""
    kept = folder / SUMS
    lines = kept.read_text(encoding="utf-8").splitlines() if kept.exists() else []
    return {path: digest for digest, path in (line.split("  ", 1) for line in lines)}


def _keep(each: Published, part: Path, target: Path) -> None:
    """Put what was downloaded in its place, in its form; it is there whole or not at all."""
    if each.form == "plain":
        part.replace(target)
        return
    if each.form == "archive" and not (zipfile.is_zipfile(part) or tarfile.is_tarfile(part)):
        part.unlink()
        raise NotFetched(f"{each.url} sent no archive; nothing is kept; {_by_hand(each, target)}")
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        made = Path(folder) / "made"
        if each.form == "gzip":
            with part.open("rb") as file, gzip.open(made, "wb") as packed:
                shutil.copyfileobj(file, packed)
        else:
            made.mkdir()
            for name, file in _members(part):
                with (made / name).open("wb") as to:
                    shutil.copyfileobj(file, to)
        made.replace(target)
    part.unlink()


def _members(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """The files of a zip or tar archive, by their last names: no path of an archive is followed."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as opened:
            for info in opened.infolist():
                if not info.is_dir():
                    yield PurePosixPath(info.filename).name, opened.open(info)
        return
    with tarfile.open(archive) as whole:
        for member in whole:
            file = whole.extractfile(member) if member.isfile() else None
            if file is not None:
                yield PurePosixPath(member.name).name, file


class Fetch(argparse.Action):
    """``--fetch FOLDER``: get the paper's public data, say how the experiment takes them, and end."""

    def __init__(self, paper: str, **given: Any) -> None:
        super().__init__(**given)
        self.paper = paper

    def __call__(self, parser: argparse.ArgumentParser, asked: Any, value: Any, option: Any = None) -> None:
        """Fetch file after file; what could not be had is told at the end, and the exit code is 2 then."""
        data, failed = OF_PAPER[self.paper], []
        for each in data.files:
            try:
                print(fetched(each, Path(value)), flush=True)
            except NotFetched as error:
                failed.append(str(error))
        for use in data.uses:
            print(f"to run: graphveil reproduce {self.paper} {use.format(folder=value)}")
        for name, why in data.elsewhere.items():
            print(f"not fetched: {name}: {why}")
        if failed:
            parser.error("\n".join(failed))
        parser.exit()
