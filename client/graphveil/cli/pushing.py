"""Matching of pushed files to steps.

Which file of ``graphveil stream push`` is which step, in the order in which they are sent.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from graphveil.errors import ClientError

_DIGITS = re.compile(r"(\d+)")


@dataclass(frozen=True)
class Sending:
    """One snapshot to be sent. It is a file, or None for a step in which nothing happened."""

    step: int
    path: Path | None

    @property
    def name(self) -> str:
        return "nothing" if self.path is None else self.path.name


def files_of(paths: Sequence[Path]) -> list[Path]:
    """List the files, and those in the folders. Numbers in names count as numbers, 2 before 10."""
    found: list[Path] = []
    for path in paths:
        if not path.is_dir():
            found.append(path)
            continue
        inside = [file for file in path.iterdir() if file.is_file() and not file.name.startswith(".")]
        if not inside:
            raise ClientError(f"the folder {path} holds no file")
        found += sorted(inside, key=_natural)
    return found


def in_order(files: Sequence[Path], first_step: int) -> list[Sending]:
    """Assign consecutive steps to the files, as they come."""
    return [Sending(first_step + place, file) for place, file in enumerate(files)]


def by_number(files: Sequence[Path]) -> list[Sending]:
    """Assign each file the step that its name ends in. ClientError where it holds no number, or one twice."""
    sendings = [Sending(_step_of(file), file) for file in files]
    sendings.sort(key=lambda sending: sending.step)
    for one, next_one in itertools.pairwise(sendings):
        if one.step == next_one.step:
            raise ClientError(f"{one.name} and {next_one.name} are both named for step {one.step}")
    return sendings


def _step_of(path: Path) -> int:
    numbers = _DIGITS.findall(path.name.partition(".")[0])
    if not numbers:
        raise ClientError(f"the name {path.name} holds no number, which would be its step")
    return int(numbers[-1])


def _natural(path: Path) -> list[tuple[int, int, str]]:
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in _DIGITS.split(path.name)]
