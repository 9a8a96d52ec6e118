"""A cell cut in two by public labels, for the branches of a parallel group."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from core.graphs.graph import Cell


class Split:
    """The two halves of a cell, cut at the first read: never before a branch has paid. O(m)."""

    def __init__(self, read: Callable[[], Cell], labels: np.ndarray) -> None:
        self._read = read
        self._labels = labels
        self._parts: dict[bool, Cell] = {}
        self._lock = threading.Lock()

    def part(self, inside: bool) -> Cell:
        """Return the edges with both ends in one label, or those with ends in two."""
        with self._lock:
            if not self._parts:
                cell = self._read()
                same = self._labels[cell.source] == self._labels[cell.target]
                for side, mask in ((True, same), (False, ~same)):
                    self._parts[side] = dataclasses.replace(
                        cell, source=cell.source[mask], target=cell.target[mask]
                    )
            return self._parts[inside]
