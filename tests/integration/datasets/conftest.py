"""A curator at work: registers, uploads, and a worker that validates in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from core.datasets.models import Dataset, DatasetVersion
from core.errors import IngestRejected
from core.graphs.ingest.uploaded import canonicalise
from core.graphs.schema import EdgeType, GraphSchema, NodeType
from core.identity.service import Principal
from core.workflows.common.context import Services
from core.workflows.datasets import ingest, ingest_work, upload
from core.workflows.datasets.register import NewDataset, register_dataset

SCHEMA = GraphSchema(node_types=(NodeType(count=6),), edge_types=(EdgeType(),))
EDGES = b"source,target\n0,1\n1,2\n2,0\n3,4\n4,3\n5,5\n"  # one duplicate, one loop: four edges are left


@dataclass
class Curator:
    """Short forms of what the tests do again and again."""

    services: Services
    principal: Principal

    def register(self, **changes: Any) -> Dataset:
        new = {"name": "trial", "unit": "edge", "epsilon": "1", "graph_schema": SCHEMA} | changes
        return register_dataset(self.services, self.principal, NewDataset.model_validate(new))

    def send(self, dataset: Dataset, data: bytes | Iterable[bytes] = EDGES, **changes: Any) -> DatasetVersion:
        chunks = [data] if isinstance(data, bytes) else data
        asked: dict[str, Any] = {"part": "edges", "format": "csv", "options": {}, "length": None} | changes
        return upload.receive_part(self.services, self.principal, dataset.id, chunks=chunks, **asked)

    def begin(self, version: DatasetVersion, worker: str = "worker-1") -> ingest_work.IngestWork:
        work = ingest.begin_ingest(self.services, version.id, worker)
        assert work is not None
        return work

    def validate(self, version: DatasetVersion) -> DatasetVersion:
        """What a worker does, with the child's part done here."""
        work = self.begin(version)
        try:
            report = canonicalise(
                work.files, work.schema, work.graph_folder, work.limits, fingerprint_key=work.fingerprint_key
            )
        except IngestRejected as error:
            return ingest.reject_ingest(self.services, work, error.members["findings"], error.message)
        if work.schema is None:
            return ingest.propose(self.services, work, report.schema, report.to_json())
        return ingest.finish_ingest(self.services, work, report.to_json())

    def ready(self, data: bytes = EDGES, **changes: Any) -> Dataset:
        """A dataset with a ready version."""
        dataset = self.register(**changes)
        version = self.validate(self.send(dataset, data))
        assert version.state == "ready", version.findings
        return dataset

    def objects(self) -> list[str]:
        return sorted(stored.key for stored in self.services.store.list("datasets"))


@pytest.fixture
def curator(services: Services, principal: Principal) -> Curator:
    return Curator(services, principal)


@pytest.fixture
def work_files(services: Services) -> Callable[[], list[Path]]:
    return lambda: list(services.settings.work_folder.rglob("*"))
