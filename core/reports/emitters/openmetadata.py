"""OpenMetadata's lineage of a release. It has a storage service, two containers in it, and the lineage
between them.

Source: the specification's ``CreateStorageServiceRequest``, ``CreateContainerRequest`` and
``AddLineageRequest``. A lineage names its ends by the ids that the catalogue gave them, so these are taken
from its answers. What a bot puts over a description is ignored there, so the budget's is patched.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from core.reports.catalogues.context import Context, description, title
from core.reports.model import PublicPart
from core.reports.pushes import (
    Call,
    Calls,
    follows_data,
    guarantee_text,
    original_name,
    original_text,
    promised,
)

SERVICE = "graphveil"
API = "/api/v1"
_PATCH = {"Content-Type": "application/json-patch+json"}


def calls(public: PublicPart, context: Context) -> Calls:
    """Put service, original and release, the original's budget, and the edge. ValueError: an odd answer."""
    made = public.provenance
    yield Call("PUT", f"{API}/services/storageServices", {"name": SERVICE, "serviceType": "CustomStorage"})
    original = _reference(
        (
            yield _container(
                {
                    "name": made.dataset_id,
                    "displayName": original_name(public),
                    "sourceUrl": context.dataset_url(public),
                }
            )
        )
    )
    # A bot's PUT leaves a description that stands as it is, and the budget in this one changes.
    yield Call(
        "PATCH",
        f"{API}/containers/{original['id']}",
        [{"op": "add", "path": "/description", "value": original_text(public)}],
        _PATCH,
    )
    promise = "\n".join(f"- {name}: {value}" for name, value in promised(public).items())
    release = _reference(
        (
            yield _container(
                {
                    "name": made.job_id,
                    "displayName": title(public, context),
                    "description": f"{description(public)}\n\n{promise}\n\n{guarantee_text(public)}",
                    "sourceUrl": context.job_url(public),
                    "numberOfObjects": len(made.artifacts),
                    "fileFormats": _formats(public),
                }
            )
        )
    )
    if not follows_data(public):
        return
    details = {"description": f"{made.method}, plan {made.plan_digest}", "source": "PipelineLineage"}
    edge = {"fromEntity": original, "toEntity": release, "lineageDetails": details}
    yield Call("PUT", f"{API}/lineage", {"edge": edge})


def _container(content: dict[str, Any]) -> Call:
    return Call("PUT", f"{API}/containers", {"service": SERVICE, **content})


def _reference(answer: Any) -> dict[str, str]:
    """Name the entity that the catalogue answered with. ValueError where it named none."""
    given = answer.get("id") if isinstance(answer, dict) else None
    return {"id": str(UUID(str(given))), "type": "container"}


def _formats(public: PublicPart) -> list[str]:
    known = {"csv", "json", "parquet"}
    return sorted(known & {file.name.rsplit(".", 1)[-1] for file in public.provenance.artifacts})
