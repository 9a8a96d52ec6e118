"""Sensitive links as their dataset's curators see them: counted, never listed."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from api.schemas.common import Answer


class ListInUse(Answer):
    """The list that jobs on the current version hide."""

    id: str = Field(examples=["sl_01k8zv2v9h6t0h3r6b8mkx2n4e"])
    version: int = Field(description="Number of the dataset's version that it was checked against.")
    links: dict[str, int] = Field(description="Links by relation; a relation without any is left out.")
    count: int = Field(description="Links in all.")
    checked_at: datetime | None


class ListUpload(Answer):
    """The newest upload, while it is not in use."""

    id: str
    version: int
    state: str = Field(description="queued, checking or rejected.")
    message: str | None = Field(description="Why it was rejected.")
    findings: list[dict[str, Any]] | None = Field(
        description="Which rows are no links: up to 20 of file, line, column, message."
    )
    received_at: datetime


class SensitiveLinks(Answer):
    """What is known of a dataset's sensitive links. Curators only."""

    dataset_id: str
    in_use: ListInUse | None = Field(description="Null where no list of the current version is ready.")
    upload: ListUpload | None = Field(description="Null where the newest upload is in use, or there is none.")


_IN_USE = {
    "id": "sl_01k8zv2v9h6t0h3r6b8mkx2n4e",
    "version": 1,
    "links": {"mail": 17},
    "count": 17,
    "checked_at": "2026-03-02T09:30:04Z",
}
EXAMPLES: dict[str, dict[str, Any]] = {
    "in use": {
        "summary": "17 links are hidden",
        "value": {"dataset_id": "ds_01k8zv2v9h6t0h3r6b8mkx2n4e", "in_use": _IN_USE, "upload": None},
    },
    "rejected": {
        "summary": "The list was replaced by one with a mistake: the former stays in use",
        "value": {
            "dataset_id": "ds_01k8zv2v9h6t0h3r6b8mkx2n4e",
            "in_use": _IN_USE,
            "upload": {
                "id": "sl_01k8zv5m3q8c1y7w4d2tj9r6fa",
                "version": 1,
                "state": "rejected",
                "message": "sensitive links: the source has no link to 'cem' in 'mail'; mend a name, or "
                "leave the line out",
                "findings": [
                    {
                        "file": "sensitive links",
                        "line": 3,
                        "column": 2,
                        "message": "the source has no link to 'cem' in 'mail'; mend a name, or leave the "
                        "line out",
                    }
                ],
                "received_at": "2026-03-03T11:02:51Z",
            },
        },
    },
}
