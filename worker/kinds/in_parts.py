"""Fits and joins of a release in parts. Its edges stay in parts; here is where it differs: what its fit
leaves, how its shards are joined."""

from __future__ import annotations

import json
from dataclasses import asdict

from core.errors import InvalidInput
from core.graphs.schema.partable import Part
from core.publishing.sharded import TOLD
from core.workflows.releases import publish, sharded
from core.workflows.releases.publish import JobWork
from worker.folders import write_private
from worker.kinds.base import Held

MAX_TOLD_BYTES = 1_024


def shards(held: Held[JobWork]) -> int:
    """Read the number of shards to sample. The fit says it of the graph; InvalidInput for what is none."""
    path, most = held.folder / "out" / TOLD, held.services.settings.max_shards
    if path.is_symlink() or path.stat().st_size > MAX_TOLD_BYTES:
        raise InvalidInput("the fit left no number of shards")
    try:
        told = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise InvalidInput("the fit left no number of shards") from error
    count = told.get("shards") if isinstance(told, dict) else None
    if type(count) is not int or count < 1:
        raise InvalidInput("the fit left no number of shards")
    return min(count, most)


def lay_out(held: Held[JobWork]) -> bool:
    """Lay out what the parts are joined with. False where some are gone, and are to be sampled again.

    NotFound once the dataset is erased; StorageError.
    """
    services, work, folder = held.services, held.work, held.folder
    out, kept = folder / "out", folder / "kept"
    for name, place in (
        (sharded.RELEASE, out / "release"),
        (sharded.MODEL, out / "private" / "model"),
        (sharded.PRIVATE, kept / "private"),
    ):
        sharded.fetch_fitted(services, work, name, place)
    parts, gone = sharded.fetch_degrees(services, work, kept / sharded.DEGREES)
    if gone:
        sharded.draw_again(services, work, gone)
        return False
    entries = [entry.to_json() for entry in publish.transcript(services, work)]
    write_private(kept / "transcript.json", json.dumps(entries).encode())
    write_private(kept / "parts.json", json.dumps([asdict(part) for part in parts]).encode())
    return True


def told(held: Held[JobWork]) -> dict[str, Part]:
    """Say what is known of the files of the bundle that hold its edges, by name."""
    return {part.name: part for part in _parts(held)}


def stored(held: Held[JobWork]) -> dict[str, str] | None:
    """Find where the parts' bytes lie already. They are by digest; None for a release that is not in
    parts."""
    return None if held.work.fitted_attempt is None else sharded.stored_parts(held.work, _parts(held))


def _parts(held: Held[JobWork]) -> list[Part]:
    """Load what the shards' rows tell of their parts, by number."""
    return sharded.drawn_parts(held.services, held.work)
