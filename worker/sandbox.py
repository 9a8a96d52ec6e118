"""What a child does, by kind of work. It is without credentials or connections, in a folder of its own.

It is a fork of the worker's fork server (:mod:`worker.fork_server`). It reads and writes its folder, and
speaks to its supervisor over two pipes. Before a release opens its graph,
and before a metered operation draws, the supervisor has answered that its record is durable.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.errors import IngestRejected, InvalidInput, LeaseLost, PrivacyViolation
from core.privacy.mechanisms import threads

if TYPE_CHECKING:
    from core.privacy.accounting.meter import TranscriptEntry

EXIT_FAILED = 70
EXIT_MEMORY = 71
EXIT_VIOLATION = 72
PROGRESS_PARTS = 20
"""Progress messages of a stage, at most, between its first and its last step."""


@dataclass(frozen=True)
class GivenGpu:
    """The one GPU that a child sees, if any. See :class:`worker.own_gpu.Gpu`."""

    uuid: str
    files: list[str]
    memory_fraction: float


@dataclass(frozen=True)
class Order:
    """What a child is to do. It has the kind of work, its folder, on which GPU and on how many threads."""

    kind: str
    folder: Path
    gpu: GivenGpu | None = None
    threads: int = 1


class Channel:
    """The child's end of the pipes. It is the recorder of its meter, and its progress."""

    def __init__(self, events: int, answers: int) -> None:
        self._events = os.fdopen(events, "wb", buffering=0)
        self._answers = os.fdopen(answers, "rb")
        self._last_sent: tuple[str, int] | None = None

    def order(self) -> Order:
        """Read what is to be done. The first line, and read once."""
        order = json.loads(self._answers.readline())
        gpu = order.get("gpu")
        given = None if gpu is None else GivenGpu(**gpu)
        return Order(str(order["kind"]), Path(order["folder"]), given, int(order.get("threads", 1)))

    def opening(self) -> None:
        """Make durable that the graph is about to be opened. LeaseLost otherwise: it must not be."""
        self._ask({"type": "open"}, {"opened": True})

    def record(self, entry: TranscriptEntry) -> None:
        """Make the entry durable. LeaseLost when the supervisor does not say so: nothing may be read."""
        self._ask({"type": "meter", "entry": entry.to_json()}, {"recorded": entry.sequence})

    def progress(self, stage: str, done: int, total: int) -> None:
        """Report the progress of a stage. It begins, ends, or reaches another twentieth of its steps.

        Chosen by counts alone: messages timed by a clock would reveal how long single steps took, and so
        private data.
        """
        part = done * PROGRESS_PARTS // total if 0 <= done < total else PROGRESS_PARTS
        if (stage, part) == self._last_sent:
            return
        self._last_sent = (stage, part)
        self._send({"type": "progress", "stage": stage, "done": int(done), "total": int(total)})

    def _ask(self, message: dict[str, Any], answer: dict[str, Any]) -> None:
        self._send(message)
        line = self._answers.readline()
        if not line or json.loads(line) != answer:
            raise LeaseLost("what was told is not durable")

    def _send(self, message: dict[str, Any]) -> None:
        view = memoryview(json.dumps(message).encode() + b"\n")
        while view:
            view = view[self._events.write(view) :]


def release(folder: Path, channel: Channel) -> None:
    """Write the release bundle to ``folder/out``. It is that of ``folder/spec.json`` and ``folder/graph``."""
    from core.publishing.release import run_release
    from core.publishing.spec import ReleaseTask

    task = ReleaseTask.model_validate_json((folder / "spec.json").read_bytes())
    previous = folder / "previous"
    run_release(
        graph_folder=folder / "graph",
        task=task,
        out=folder / "out",
        recorder=channel,
        progress=channel.progress,
        previous=previous if previous.is_dir() else None,
    )


def sample(folder: Path, channel: Channel) -> None:
    """Write the release bundle of a further sample. It is that of ``folder/spec.json``, sampled from
    ``folder/source``, to ``folder/out``."""
    from core.publishing.sample import run_sample
    from core.publishing.spec import ReleaseTask

    task = ReleaseTask.model_validate_json((folder / "spec.json").read_bytes())
    run_sample(source=folder / "source", task=task, out=folder / "out", progress=channel.progress)


def declared(folder: Path, channel: Channel) -> None:
    """Write the bundle of a graph from declared facts to ``folder/out``. They are ``folder/spec.json`` and
    ``folder/schema.json``: the folder holds nothing else."""
    from core.graphs.schema import GraphSchema
    from core.publishing.declared import run_declared
    from core.publishing.spec import ReleaseTask

    task = ReleaseTask.model_validate_json((folder / "spec.json").read_bytes())
    schema = GraphSchema.model_validate_json((folder / "schema.json").read_bytes())
    run_declared(schema=schema, task=task, out=folder / "out", progress=channel.progress)


def fit(folder: Path, channel: Channel) -> None:
    """Fit the graph in parts in ``folder/graph``. ``folder/spec.json`` says how; it goes to
    ``folder/out``."""
    from core.publishing.sharded import run_fit
    from core.publishing.spec import ReleaseTask

    task = ReleaseTask.model_validate_json((folder / "spec.json").read_bytes())
    run_fit(
        graph_folder=folder / "graph",
        task=task,
        out=folder / "out",
        recorder=channel,
        progress=channel.progress,
    )


def shard(folder: Path, channel: Channel) -> None:
    """Sample the shard of ``folder/spec.json``. It comes from ``folder/law``; ``result.json`` describes the
    part."""
    from core.publishing.sharded import run_shard

    spec = json.loads((folder / "spec.json").read_bytes())
    part = run_shard(
        law=folder / "law",
        method=spec["method"],
        number=spec["number"],
        shards=spec["shards"],
        out=folder / "out",
    )
    (folder / "result.json").write_text(json.dumps({"report": vars(part)}), encoding="utf-8")


def join(folder: Path, channel: Channel) -> None:
    """Complete the release bundle in ``folder/out``. Its parts are there, as ``folder/spec.json`` says."""
    from core.publishing.sharded import run_join
    from core.publishing.spec import ReleaseTask

    task = ReleaseTask.model_validate_json((folder / "spec.json").read_bytes())
    parts = json.loads((folder / "kept" / "parts.json").read_bytes())
    run_join(kept=folder / "kept", parts=parts, task=task, out=folder / "out", progress=channel.progress)


def evaluate(folder: Path, channel: Channel) -> None:
    """Compare ``folder/bundle`` with ``folder/graph`` in ``folder/out/curator.json``."""
    from core.publishing.evaluate import run_evaluation
    from core.publishing.spec import EvaluationSpec

    run_evaluation(
        graph_folder=folder / "graph",
        release_folder=folder / "bundle",
        spec=EvaluationSpec.model_validate_json((folder / "spec.json").read_bytes()),
        out=folder / "out",
        progress=channel.progress,
    )


def audit(folder: Path, channel: Channel) -> None:
    """Run the audit, and write its result. ``folder/spec.json`` describes it; the result goes to
    ``folder/out/audit.json``."""
    from core.privacy.accounting.audited import AuditSpec
    from core.publishing.audit import run_audit

    spec = AuditSpec.model_validate_json((folder / "spec.json").read_bytes())
    run_audit(spec, folder / "out", channel.progress)


def ingest(folder: Path, channel: Channel) -> None:
    """Make the upload's canonical graph. ``folder/graph`` holds it; ``folder/spec.json`` describes the
    upload.

    ``folder/result.json`` says how it went: ``{"report": ...}``, or ``{"findings": [...], "message": ...}``.
    """
    from core.graphs.ingest.parted import canonicalise_parts, write_listed
    from core.graphs.ingest.uploaded import canonicalise
    from core.graphs.schema import GraphSchema
    from core.graphs.uploads.files import IngestLimits, UploadedFile

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
    from core.graphs.counted.here import Here
    from core.graphs.counted.reference import Reference
    from core.graphs.ingest.referenced import count_reference
    from core.graphs.stored.whole import read_schema, read_universe
    from core.privacy.reads.public_groups import labellings

    out, source = folder / "graph", Reference.model_validate(spec["rows"])
    schema, nodes = read_schema(out), read_universe(out)
    (kind,) = schema.node_types
    told, key = labellings(kind, nodes[kind.name]), bytes.fromhex(spec["fingerprint_key"])
    engine = Here(folder / "counted")
    return count_reference(engine, source, schema, nodes, told, out, limits, fingerprint_key=key).to_json()


def snapshot(folder: Path, channel: Channel) -> None:
    """Make the snapshot canonical. ``folder/snapshot`` holds schema and edges of what
    ``folder/snapshot.json`` describes.

    ``folder/graph`` holds its universe. ``folder/result.json`` says how it went: ``{"report": {}}``, or
    ``{"findings": [...], "message": ...}``.
    """
    from core.graphs.ingest.snapshots import canonical_snapshot
    from core.graphs.schema import GraphSchema
    from core.graphs.stored.whole import read_universe
    from core.graphs.uploads.files import IngestLimits, UploadedFile

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
    from core.graphs.ingest.sensitive_links import write_checked
    from core.graphs.uploads.files import IngestLimits, UploadedFile

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


KINDS: dict[str, Callable[[Path, Channel], None]] = {
    "release": release,
    "sample": sample,
    "declared": declared,
    "fit": fit,
    "shard": shard,
    "join": join,
    "ingest": ingest,
    "snapshot": snapshot,
    "links": links,
    "evaluate": evaluate,
    "audit": audit,
}


def work(order: Order, channel: Channel) -> int:
    """Do the work, and return the exit code. It is 0 when it is done; the reason otherwise, and no word more
    outside."""
    try:
        if order.gpu is not None:
            from core.learning import devices

            devices.limit_memory(order.gpu.memory_fraction)
        threads.allow(order.threads)
        KINDS[order.kind](order.folder, channel)
    except PrivacyViolation:
        traceback.print_exc()
        return EXIT_VIOLATION
    except MemoryError:
        return EXIT_MEMORY
    except Exception as error:
        traceback.print_exc()
        return EXIT_MEMORY if _of_gpu_memory(error) else EXIT_FAILED
    return 0


def _of_gpu_memory(error: Exception) -> bool:
    """Tell whether the GPU had too little memory: for torch, for its libraries, or for CUDA itself."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(error, RuntimeError):
        return False
    lacking = ("CUDA error: out of memory", "CUBLAS_STATUS_ALLOC_FAILED", "CUDNN_STATUS_ALLOC_FAILED")
    return isinstance(error, torch.OutOfMemoryError) or any(each in str(error) for each in lacking)
