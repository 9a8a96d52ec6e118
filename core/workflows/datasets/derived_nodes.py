"""The universe of a proposed schema. Its node list was read off the edges, and is kept as a part."""

from __future__ import annotations

import hashlib

from core.datasets import objects
from core.datasets.models import EDGES, NODES, DatasetPart
from core.graphs import formats
from core.storage.folders import chunks_of
from core.storage.sealed import seal
from core.workflows.common.context import Services
from core.workflows.datasets.ingest_work import IngestWork, alive, content_key


def keep_derived_nodes(services: Services, work: IngestWork) -> DatasetPart | None:
    """Keep the derived nodes as a stored part. The new part ``nodes`` is not yet in the database; None where
    the upload has its own node list.

    A node list holds one column of ids and one of types, as Parquet.
    """
    path = work.graph_folder / "nodes.parquet"
    if NODES in work.files or formats.reader(work.files[EDGES].format).carries_nodes or not path.is_file():
        return None
    key = objects.nodes_key(work.dataset_id, work.version_id, work.attempt)
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    services.store.put(
        key, seal(alive(services, work, chunks_of(path)), content_key(services, work.dataset_id), context=key)
    )
    return DatasetPart(
        version_id=work.version_id,
        part=NODES,
        format="parquet",
        options={},
        object_key=key,
        sha256=sha256,
        size_bytes=path.stat().st_size,
    )
