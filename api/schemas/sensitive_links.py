"""Examples of what curators see of sensitive links."""

from __future__ import annotations

from typing import Any

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
