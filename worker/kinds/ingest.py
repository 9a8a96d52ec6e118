"""The validation of an upload. Its findings are the curator's; nobody else sees more than the state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from core.datasets.models import INGESTS
from core.graphs.schema import GraphSchema
from core.jobs.models import Stop
from core.workflows.common.context import Services
from core.workflows.datasets import ingest, ingest_work
from core.workflows.datasets.ingest_work import IngestWork
from worker.kinds import referenced
from worker.kinds.base import Held, WorkKind, read_result
from worker.supervisor import Ending

GAVE_UP = {
    Ending.MEMORY: "the validation needed more memory than one upload may use",
    Ending.TIME: "the validation took longer than one upload may take",
}
FAILED = "the validation failed on these files"


def gave_up(ending: Ending) -> str:
    """Say what curators read of a failed validation. It ended by its own doing."""
    return GAVE_UP.get(ending, FAILED)


class IngestKind(WorkKind[IngestWork]):
    """Uploads: ready, proposed, or rejected with findings."""

    leased = INGESTS
    name, child = "ingest", "ingest"
    begins_at_once = False  # files are fetched first

    def begin(self, services: Services, subject_id: str, worker: str) -> IngestWork | None:
        return ingest.begin_ingest(services, subject_id, worker)

    @contextmanager
    def folder(self, parent: Path, subject_id: str, work: IngestWork) -> Iterator[Path]:
        """Use the folder with the files of the ingest. :func:`core.workflows.datasets.ingest.begin_ingest`
        laid them out there."""
        try:
            yield work.folder
        finally:
            ingest_work.discard_work(work)

    def spec(self, held: Held[IngestWork]) -> Mapping[str, Any]:
        work = held.work
        return {
            "files": {
                part: {
                    "path": str(file.path),
                    "format": file.format,
                    "options": dict(file.options),
                    "answered_later": file.answered_later,
                }
                for part, file in work.files.items()
                if file is not work.reference
            },
            "schema": None if work.schema is None else work.schema.model_dump(mode="json"),
            "limits": asdict(work.limits),
            "fingerprint_key": work.fingerprint_key.hex(),
            "in_parts": work.in_parts,
            "referenced": work.reference is not None,
        }

    def run(self, held: Held[IngestWork]) -> None:
        """Supervise the child. Edges that stay elsewhere are counted there, if the service has an engine."""
        spec, child = self.spec(held), partial(self.supervised, held)
        self.settle(
            held, child(spec) if held.work.reference is None else referenced.counted(held, spec, child)
        )

    def finish(self, held: Held[IngestWork]) -> None:
        services, work, result = held.services, held.work, read_result(held.folder)
        if "findings" in result:
            ingest.reject_ingest(services, work, result["findings"], result["message"])
        elif work.schema is None:
            schema = GraphSchema.model_validate(result["report"]["schema"])
            ingest.propose(services, work, schema, result["report"])
        else:
            ingest.finish_ingest(services, work, result["report"])

    def fail(self, services: Services, work: IngestWork, ending: Ending) -> None:
        ingest.fail_ingest(services, work, gave_up(ending), retry=False)

    def hand_back(self, services: Services, work: IngestWork, stop: Stop) -> None:
        ingest.fail_ingest(services, work)
