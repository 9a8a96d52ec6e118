"""Edges that stay where they are. An engine counts them there; without one their files are copied to a child.

What comes from an engine is exact counts and digests, never a row. They are sealed with the dataset's key, as
a graph is, and the metered child that fits reads them from there. No child talks to the engine: a child
reaches no network, and has no credentials. No content of a file is looked at here either.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from core.errors import IngestRejected, InvalidInput
from core.graphs.counted import places
from core.graphs.counted.port import Engine
from core.graphs.counted.reference import Reference, References, places_of, read_reference
from core.graphs.ingest.referenced import count_reference
from core.graphs.stored.whole import read_universe
from core.privacy.reads.public_groups import labellings_of
from core.storage.store import make_private_folder
from core.workflows.datasets.ingest_work import IngestWork
from worker.folders import write_private
from worker.kinds import on_engine
from worker.kinds.base import Held, read_result
from worker.supervisor import Ending


def counted(
    held: Held[IngestWork], spec: Mapping[str, Any], child: Callable[[Mapping[str, Any]], Ending]
) -> Ending:
    """Count the edges that the work refers to; how that ended. ``result.json`` says what was found."""
    work, settings, result = held.work, held.services.settings, held.folder / "result.json"
    try:
        assert work.reference is not None  # it is asked before
        allowed = places_of(work.tenant, settings.engine_places)
        source = read_reference(work.reference.path.read_bytes(), allowed)
        if not settings.engine_url.get_secret_value():
            return child({**spec, "rows": _copied(source, held)})
        ending = child(spec)
        if ending is not Ending.FINISHED or "findings" in read_result(held.folder):
            return ending
        result.unlink()
        with on_engine.engine(settings, work.version_id, work.attempt) as engine:
            report, ending = on_engine.watched(held, lambda: _report(engine, source, work), engine.stop)
    except (IngestRejected, InvalidInput) as error:
        found = {"findings": error.members.get("findings", []), "message": error.message}
        write_private(result, json.dumps(found).encode())
        return Ending.FINISHED
    if ending is Ending.FINISHED:
        write_private(result, json.dumps({"report": report}).encode())
    return ending


def _report(engine: Engine, source: Reference | References, work: IngestWork) -> dict[str, Any]:
    assert work.schema is not None  # a graph in parts has a declared one
    nodes, out = read_universe(work.graph_folder), work.graph_folder
    told, key = labellings_of(work.schema, nodes), work.fingerprint_key
    return count_reference(
        engine, source, work.schema, nodes, told, out, work.limits, fingerprint_key=key
    ).to_json()


def _copied(source: Reference | References, held: Held[IngestWork]) -> dict[str, Any]:
    """Copy the files of folders beside the work, for its child to read. InvalidInput for what is none."""
    left = held.services.settings.max_upload_bytes
    named = source.relations if isinstance(source, References) else (source,)
    make_private_folder(held.folder / "rows")
    found = []
    for place, each in enumerate(named):
        if each.folder is None:
            raise InvalidInput(
                "this service has no engine that knows tables; refer to a folder of Parquet files"
            )
        rows = held.folder / "rows" / str(place)
        make_private_folder(rows)
        for number, address in enumerate(places.listed(each.folder)):
            left -= places.fetch(address, rows / f"{number:05d}.parquet", left)
        found.append({**each.model_dump(), "folder": str(rows)})
    return {"relations": found} if isinstance(source, References) else found[0]
