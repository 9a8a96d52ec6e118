"""Shards that tasks of an engine draw. Each is a function of the law and its number alone, and may run twice.

What stands in the engine's folder is sealed with a key of the attempt's own, which the tasks are given and
nobody keeps: the law before, a part and the degrees of its nodes after.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from core.graphs.counted import places
from core.graphs.schema.partable import part_name
from core.publishing.sharded import run_shard
from core.storage.folders import unpack
from core.storage.sealed import seal, unseal

LAW, PARTS, DEGREES = "law", "parts", "degrees"


@dataclass(frozen=True)
class Drawing:
    """The task: draw and verify one of the shards of these ``numbers``, and tell of its part."""

    place: str
    method: str
    numbers: tuple[int, ...]
    shards: int
    key: bytes

    def __call__(self, index: int) -> Mapping[str, Any]:
        number, name = self.numbers[index], part_name(self.numbers[index], self.shards)
        # The scratch folder goes with the task: nothing stays unsealed on a machine of the engine.
        with TemporaryDirectory() as scratch:
            law, out, degrees = (Path(scratch) / each for each in (LAW, PARTS, DEGREES))
            law.mkdir()
            unpack(self.get(LAW), law)
            part = run_shard(
                law=law, method=self.method, number=number, shards=self.shards, out=out, degrees=degrees
            )
            # Sealed under its own name, so that no part can be put in the place of another.
            for folder in (out, degrees):
                self.put(f"{folder.name}/{name}", places.pieces(folder / name))
        return asdict(part)

    def put(self, name: str, chunks: Iterable[bytes]) -> None:
        """Write a file to the engine's folder, sealed."""
        places.put_chunks(seal(chunks, self.key, context=name), places.below(self.place, name))

    def get(self, name: str) -> Iterator[bytes]:
        """Open a file of the engine's folder. StorageError where it was altered."""
        return unseal(places.chunks(places.below(self.place, name)), self.key, context=name)
