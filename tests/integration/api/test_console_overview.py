"""What the first pages tell at a glance: what waits however long ago it came, and when a budget ends."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from core.graphs import formats
from core.identity.models import Role
from core.outbox.models import Topic
from tests.integration.api.conftest import Tenant
from tests.support.console import Steward

SignedIn = Callable[..., Steward]


def test_what_waits_for_a_curator_is_shown_however_many_datasets_are_newer(
    tenant: Tenant, at_console: SignedIn
) -> None:
    proposed = tenant.register(graph_schema=None)
    received = tenant.upload(proposed["id"]).json()
    tenant.work(Topic.INGEST, received["id"])
    rejected = tenant.register()
    received = tenant.upload(rejected["id"], "source,target\n1,nobody\n").json()
    tenant.work(Topic.INGEST, received["id"])
    assert tenant.call("GET", f"/datasets/{rejected['id']}").json()["state"] == "rejected"
    for _ in range(12):
        tenant.register()
    shown = at_console(tenant).get("/console").text
    assert f'href="/console/datasets/{proposed["id"]}/schema"' in shown
    assert f'href="/console/datasets/{rejected["id"]}/upload"' in shown
    assert "Waiting for you" not in at_console(tenant, Role.REQUESTER).get("/console").text


def test_a_budget_says_on_which_day_it_ends_at_its_pace(tenant: Tenant, at_console: SignedIn) -> None:
    dataset_id = tenant.ready("4")
    steward = at_console(tenant)
    pages = ("/console", "/console/datasets", f"/console/datasets/{dataset_id}")
    assert not any("at this pace" in steward.get(path).text for path in pages)
    before = datetime.now(UTC).date()
    job_id = tenant.submit(dataset_id, "1").json()["id"]
    tenant.work(Topic.RUN, job_id)
    pace = tenant.call("GET", f"/datasets/{dataset_id}/budget").json()["pace"]
    days = {(day + timedelta(days=3)).isoformat() for day in (before, datetime.now(UTC).date())}
    assert (pace["days"], pace["epsilon_per_day"], pace["ends_on"] in days) == (1, "1", True)
    for path in pages:
        assert f"nothing is left on {pace['ends_on']}" in steward.get(path).text


def test_the_upload_offers_the_formats_that_are_read_and_no_other(
    tenant: Tenant, at_console: SignedIn
) -> None:
    shown = at_console(tenant).get(f"/console/datasets/{tenant.register()['id']}/upload").text
    offered = re.search(r'<select id="f-format".*?</select>', shown, re.DOTALL)
    assert offered is not None
    assert re.findall(r"<option[^>]*>(\w+)</option>", offered[0]) == list(formats.read_names())
    assert set(formats.names()) > set(formats.read_names())
