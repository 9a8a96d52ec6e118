"""DataHub's metadata change proposals. They make two datasets and the lineage between them, in one batch.

Source: the metadata model's ``MetadataChangeProposal`` and its aspects ``datasetProperties``,
``upstreamLineage`` and ``subTypes``; the metadata service's action ``ingestProposalBatch``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from core.reports.catalogues.context import Context, description, title
from core.reports.model import PublicPart
from core.reports.pushes import (
    Call,
    Calls,
    budget,
    follows_data,
    guarantee_text,
    original_name,
    original_text,
    promised,
)

PATH = "/aspects?action=ingestProposalBatch"
ACTOR = "urn:li:corpuser:graphveil"


def calls(public: PublicPart, context: Context) -> Calls:
    """Upsert both datasets and the edge between them. A day is the only time that is stated."""
    made = public.provenance
    original, release = _urn(f"datasets/{made.dataset_id}"), _urn(f"jobs/{made.job_id}")
    upstreams = [_upstream(original, context)] if follows_data(public) else []
    released = f"{description(public)}\n\n{guarantee_text(public)}"
    proposals = [
        *_original(original, public, context),
        _proposal(
            release,
            "datasetProperties",
            {
                "name": title(public, context),
                "description": released,
                "externalUrl": context.job_url(public),
                "customProperties": promised(public),
            },
        ),
        _proposal(release, "subTypes", {"typeNames": ["Synthetic graph"]}),
        _proposal(release, "upstreamLineage", {"upstreams": upstreams}),
    ]
    headers = {"X-RestLi-Protocol-Version": "2.0.0"}
    # Not async: the answer then says whether it was written.
    yield Call("POST", PATH, {"proposals": proposals, "async": "false"}, headers)


def _original(urn: str, public: PublicPart, context: Context) -> list[dict[str, Any]]:
    properties = {
        "name": original_name(public),
        "description": original_text(public),
        "externalUrl": context.dataset_url(public),
        "customProperties": budget(public),
    }
    return [
        _proposal(urn, "datasetProperties", properties),
        _proposal(urn, "subTypes", {"typeNames": ["Sensitive graph"]}),
    ]


def _urn(name: str) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:graphveil,{name},PROD)"


def _upstream(original: str, context: Context) -> dict[str, Any]:
    day = context.released_on
    # Midnight of the day of the release: an exact time can depend on the data.
    milliseconds = (day.toordinal() - type(day)(1970, 1, 1).toordinal()) * 86_400_000
    return {
        "dataset": original,
        "type": "TRANSFORMED",
        "auditStamp": {"time": milliseconds, "actor": ACTOR},
    }


def _proposal(urn: str, aspect: str, value: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "entityType": "dataset",
        "entityUrn": urn,
        "changeType": "UPSERT",
        "aspectName": aspect,
        "aspect": {"value": json.dumps(value, sort_keys=True), "contentType": "application/json"},
    }
