"""Every call of every emitter, from every kind of release; ``python -m tests.support.pushed`` prints them."""

from __future__ import annotations

import dataclasses
import json
from datetime import date
from typing import Any

from core.reports import pushes
from core.reports.catalogues.context import Context
from core.reports.model import PublicPart
from tests.support import reports

HERE = Context("https://gv.example", date(2026, 3, 4))
IDS = {"ds_01k8zv2v9h6t0h3r6b8mkx2n4f": "11111111-2222-4333-8444-555555555555"}
RELEASE_ID = "99999999-2222-4333-8444-555555555555"


def hostile() -> PublicPart:
    """Markup wherever people write; ids are the service's own."""
    part, own = reports.hostile(), reports.static().provenance
    ids = {"dataset_id": own.dataset_id, "job_id": own.job_id}
    return part.model_copy(update={"provenance": part.provenance.model_copy(update=ids)})


PARTS = {
    "static": reports.static(),
    "temporal": reports.temporal(),
    "unbounded": reports.unbounded(),
    "unread": reports.unread(),
    "hostile": hostile(),
}


def served(part: PublicPart, **changes: Any) -> PublicPart:
    """The part as it is served, with its charge."""
    return part.model_copy(update={"charge": reports.charge().model_copy(update=changes)})


def sent(catalogue: str, part: PublicPart) -> list[pushes.Call]:
    """Every call, each answered as OpenMetadata answers: with the entity and its id."""
    found, left = [], pushes.calls(catalogue, part, HERE)
    try:
        call = next(left)
        while True:
            found.append(call)
            name = call.content.get("name") if isinstance(call.content, dict) else None
            call = left.send({"id": IDS.get(str(name), RELEASE_ID), "name": name})
    except StopIteration:
        return found


if __name__ == "__main__":
    every = {
        name: [dataclasses.asdict(call) for part in PARTS.values() for call in sent(name, served(part))]
        for name in pushes.catalogues()
    }
    print(json.dumps(every))
