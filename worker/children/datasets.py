"""What owners upload, made canonical: graphs, snapshots of streams, lists of sensitive links."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from core.errors import IngestRejected, InvalidInput
from core.graphs.counted.here import Here
from core.graphs.counted.reference import Reference, References
from core.graphs.ingest.parted import canonicalise_parts, write_listed
from core.graphs.ingest.referenced import count_reference
from core.graphs.ingest.sensitive_links import write_checked
from core.graphs.ingest.snapshots import canonical_snapshot
from core.graphs.ingest.uploaded import canonicalise
from core.graphs.schema import GraphSchema
from core.graphs.stored.whole import read_schema, read_universe
from core.graphs.uploads.files import IngestLimits, UploadedFile
from core.privacy.reads.public_groups import labellings_of
from worker.sandbox import Channel


def ingest(folder: Path, channel: Channel) -> None:
    """Make the upload's canonical graph. ``folder/graph`` holds it; ``folder/spec.json`` describes the
    upload.

    ``folder/result.json`` says how it went: ``{"report": ...}``, or ``{"findings": [...], "message": ...}``.
    """
    spec = json.loads((folder / "spec.json").read_bytes())
    files = {
        part: UploadedFile(
            Path(file["path"]),
            file["format"],
            file["options"],
            answered_later=file.get("answered_later", False),  # none is said by the version before
        )
        for part, file in spec["files"].items()
    }

    def validate() -> dict[str, Any]:
        schema = None if spec["schema"] is None else GraphSchema.model_validate(spec["schema"])
        out, limits = folder / "graph", IngestLimits(**spec["limits"])
        key = bytes.fromhex(spec["fingerprint_key"])
        if spec.get("referenced"):
            write_listed(files, schema, out, limits)
            return _counted_here(folder, spec, limits) if "rows" in spec else {}
        if spec["in_parts"]:
            report = canonicalise_parts(files, schema, out, limits, channel.progress, fingerprint_key=key)
        else:
            report = canonicalise(files, schema, out, limits, channel.progress, fingerprint_key=key)
        return report.to_json()

    _write_result(folder, validate)


def _counted_here(folder: Path, spec: dict[str, Any], limits: Any) -> dict[str, Any]:
    """Count the edges of ``folder/rows``, which are not stored; what was found."""
    out, rows = folder / "graph", spec["rows"]
    source = (References if "relations" in rows else Reference).model_validate(rows)
    schema, nodes = read_schema(out), read_universe(out)
    told, key = labellings_of(schema, nodes), bytes.fromhex(spec["fingerprint_key"])
    engine = Here(folder / "counted")
    return count_reference(engine, source, schema, nodes, told, out, limits, fingerprint_key=key).to_json()


def snapshot(folder: Path, channel: Channel) -> None:
    """Make the snapshot canonical. ``folder/snapshot`` holds schema and edges of what
    ``folder/snapshot.json`` describes.

    ``folder/graph`` holds its universe. ``folder/result.json`` says how it went: ``{"report": {}}``, or
    ``{"findings": [...], "message": ...}``.
    """
    spec = json.loads((folder / "snapshot.json").read_bytes())
    file = spec["file"]

    def validate() -> dict[str, Any]:
        canonical_snapshot(
            None if file is None else UploadedFile(folder / "upload", file["format"], file["options"]),
            GraphSchema.model_validate(spec["schema"]),
            read_universe(folder / "graph"),
            folder / "snapshot",
            IngestLimits(**spec["limits"]),
            channel.progress,
        )
        return {}

    _write_result(folder, validate)


def links(folder: Path, channel: Channel) -> None:
    """Check the list of sensitive links. ``folder/out`` holds the checked list of ``folder/upload``, whose
    graph is ``folder/graph``.

    ``folder/result.json`` says how it went: ``{"report": {relation: links}}``, or findings and a message.
    """
    spec = json.loads((folder / "spec.json").read_bytes())
    file = UploadedFile(folder / "upload", spec["format"], spec["options"])
    limits = IngestLimits(**spec["limits"])
    out, graph = folder / "out", folder / "graph"
    _write_result(folder, lambda: write_checked(file, graph, out, limits, channel.progress, spec["list_id"]))


def _write_result(folder: Path, validate: Callable[[], dict[str, Any]]) -> None:
    """Write to ``result.json`` what ``validate`` reports, or the findings and message of its refusal."""
    try:
        result: dict[str, Any] = {"report": validate()}
    except IngestRejected as error:
        result = {"findings": error.members.get("findings", []), "message": error.message}
    except InvalidInput as error:
        result = {"findings": [], "message": error.message}
    (folder / "result.json").write_text(json.dumps(result), encoding="utf-8")
