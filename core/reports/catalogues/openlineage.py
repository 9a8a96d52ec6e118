"""OpenLineage: the ``COMPLETE`` run event of the job that made a release.

Source: OpenLineage specification 2-0-2, and the versions of its standard facets that are named below. Facets
of our own carry the prefix ``graphveil`` and conform to the specification's base facet.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from fnmatch import fnmatch
from typing import Any
from urllib.parse import urlsplit

from core.reports.catalogues.context import (
    EDGE_COLUMNS,
    EDGES,
    NODE_COLUMNS,
    NODES,
    PART,
    Context,
    edges_of,
    limits,
    part_columns,
)
from core.reports.model import PublicPart, ReleasedFile
from core.reports.text import plain

EVENT = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/"
FACETS = "https://openlineage.io/spec/facets/"


def openlineage(public: PublicPart, context: Context) -> dict[str, Any]:
    """Write the event. Its time is the start of the day of the release: exact times can depend on data."""
    provenance = public.provenance
    namespace = f"graphveil://{urlsplit(context.base_url).netloc}"
    job_facet = {"processingType": "BATCH", "integration": "GRAPHVEIL", "jobType": "JOB"}
    version = {"datasetVersion": provenance.dataset_version}
    return {
        "eventType": "COMPLETE",
        "eventTime": f"{context.released_on.isoformat()}T00:00:00Z",
        "producer": context.base_url,
        "schemaURL": EVENT + "RunEvent",
        "run": {
            # Made of the job's id: however often it is sent, it is the same run.
            "runId": str(uuid.uuid5(uuid.NAMESPACE_URL, f"urn:graphveil:{provenance.job_id}")),
            "facets": {
                "processing_engine": _facet(
                    context,
                    FACETS + "1-1-1/ProcessingEngineRunFacet.json#/$defs/ProcessingEngineRunFacet",
                    {"name": "Graphveil", "version": provenance.graphveil_version},
                ),
                "graphveil_guarantee": _facet(context, EVENT + "RunFacet", _guarantee(public)),
                "graphveil_provenance": _facet(context, EVENT + "RunFacet", _provenance(public)),
            },
        },
        "job": {
            "namespace": namespace,
            "name": f"release.{provenance.method}",
            "facets": {
                "jobType": _facet(
                    context, FACETS + "2-0-3/JobTypeJobFacet.json#/$defs/JobTypeJobFacet", job_facet
                )
            },
        },
        "inputs": [
            {
                "namespace": namespace,
                "name": f"datasets/{provenance.dataset_id}",
                "facets": {
                    "version": _facet(
                        context,
                        FACETS + "1-0-1/DatasetVersionDatasetFacet.json#/$defs/DatasetVersionDatasetFacet",
                        version,
                    )
                },
            }
        ]
        if public.guarantee.kind != "unread"
        else [],
        "outputs": [_output(public, context, namespace, file) for file in provenance.artifacts],
    }


def _output(public: PublicPart, context: Context, namespace: str, file: ReleasedFile) -> dict[str, Any]:
    rows = {NODES: sum(public.statistics.nodes.values()), EDGES: edges_of(public)}
    columns = {NODES: NODE_COLUMNS, EDGES: EDGE_COLUMNS}
    if fnmatch(file.name, PART):
        columns[file.name] = part_columns(public)
    size = {"size": file.size_bytes, "fileCount": 1}
    if file.name in rows:
        size["rowCount"] = rows[file.name]
    digest = {"algorithm": "sha256", "value": file.sha256, "mediaType": file.media_type}
    facets = {"graphveil_checksum": _facet(context, EVENT + "DatasetFacet", digest)}
    if file.name in columns:
        facets["schema"] = _facet(
            context,
            FACETS + "1-1-1/SchemaDatasetFacet.json#/$defs/SchemaDatasetFacet",
            {
                "fields": [
                    {"name": name, "type": kind, "description": meaning}
                    for name, (kind, meaning) in columns[file.name].items()
                ]
            },
        )
    schema = (
        FACETS + "1-0-2/OutputStatisticsOutputDatasetFacet.json#/$defs/OutputStatisticsOutputDatasetFacet"
    )
    return {
        "namespace": namespace,
        "name": f"jobs/{public.provenance.job_id}/{file.name}",
        "facets": facets,
        "outputFacets": {"outputStatistics": _facet(context, schema, size)},
    }


def _guarantee(public: PublicPart) -> dict[str, Any]:
    given = public.guarantee
    return {
        "kind": given.kind,
        "epsilon": given.epsilon,
        "delta": given.delta,
        "unit": given.unit.value,
        "window": given.window,
        "statement": plain(given.statement),
        "assurance": plain(given.assurance),
        "notCovered": limits(public),
    }


def _provenance(public: PublicPart) -> dict[str, Any]:
    provenance = public.provenance
    return {
        "method": provenance.method,
        "parameters": public.parameters,
        "planDigest": provenance.plan_digest,
        "libraries": provenance.libraries,
        "snapshots": public.statistics.steps,
    }


def _facet(context: Context, schema: str, content: Mapping[str, Any]) -> dict[str, Any]:
    return {"_producer": context.base_url, "_schemaURL": schema, **content}
