"""What the console's pages do with streams, webhooks' secrets, and accounts that are exposed or blocked."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from core.db.session import Database
from core.identity.models import Role
from core.ledger import service as ledger
from core.outbox.models import Topic
from core.webhooks import service
from core.workflows.common.context import Services
from core.workflows.webhooks import endpoints
from tests.integration.api.conftest import Tenant, week
from tests.integration.api.test_unblock import block
from tests.support.console import Steward, csrf_in

SignedIn = Callable[..., Steward]
C, R, A, O = Role.CURATOR, Role.REQUESTER, Role.AUDITOR, Role.OPERATOR  # noqa: E741
SECRET = re.compile(r'<code class="token"[^>]*>(\S+)</code>')


def test_a_stream_is_planned_opened_watched_and_closed(tenant: Tenant, at_console: SignedIn) -> None:
    dataset_id = tenant.streamable()
    steward, at = at_console(tenant, C, R), f"/console/datasets/{dataset_id}"
    assert f"{at}/stream" in steward.get(at).text
    page = steward.get(f"{at}/stream?epsilon=0.8").text
    assert "Open it at ε 0.8 a window" in page
    plan = tenant.call(
        "POST", "/streams?dry_run=true", json={"dataset_id": dataset_id, "epsilon": "0.8"}
    ).json()
    assert f"One step costs at most</dt><dd>ε {plan['step_epsilon']}</dd>" in page
    form = page.partition('action="/console/streams"')[2]
    asked = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', form))
    assert asked.pop("csrf") == csrf_in(page)
    sent = [steward.post("/console/streams", **asked, label="weekly").headers["Location"] for _ in range(2)]
    assert sent[0] == sent[1]  # sent twice, opened once
    assert "The stream is open" in steward.get(sent[0]).text
    stream = sent[0].partition("?")[0]
    pushed = tenant.push(stream.rpartition("/")[2], week(0), step=0).json()
    tenant.work(Topic.RUN, pushed["job_id"])
    shown = steward.get(stream).text
    assert f'href="/console/jobs/{pushed["job_id"]}"' in shown
    assert f"{stream.rpartition('/')[2]}/snapshots?step=1" in shown
    left = tenant.call("GET", f"/datasets/{dataset_id}/budget").json()["remaining"]["epsilon"]
    assert f"ε {left} left of 2" in shown
    assert steward.post(f"{stream}/close").headers["Location"].endswith("?done=closed")
    assert f"{stream}/close" not in steward.get(stream).text
    assert tenant.push(stream.rpartition("/")[2], week(1), step=1).status_code == 409


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"epsilon": "much"}, "epsilon"),
        ({"epsilon": "0.5", "method": "no-such"}, "/problems/unknown-method"),
        ({"epsilon": "0.5", "edge_types": "no-such"}, "no-such"),
        ({"epsilon": "0.5", "first_step": "-1"}, "first_step"),
        ({"epsilon": "0.5", "missing_steps": "guess"}, "missing_steps"),
    ],
)
def test_what_no_stream_can_be_is_refused_beside_its_form(
    house: Tenant, stream_dataset: str, at_console: SignedIn, wrong: dict[str, str], said: str
) -> None:
    steward = at_console(house, C)
    at = f"/console/datasets/{stream_dataset}/stream"
    looked = steward.client.get(at, params=wrong)
    assert (looked.status_code, "Open it at" in looked.text, said in looked.text) == (200, False, True)
    sent = steward.post("/console/streams", dataset_id=stream_dataset, idempotency_key="k", **wrong)
    assert (sent.status_code in (404, 422), said in sent.text) == (True, True), sent.status_code


def test_a_dataset_without_windows_offers_no_stream(
    house: Tenant, ready_dataset: str, at_console: SignedIn
) -> None:
    steward, at = at_console(house, C), f"/console/datasets/{ready_dataset}"
    assert f"{at}/stream" not in steward.get(at).text
    assert "published under unit w-event" in steward.get(f"{at}/stream").text


def test_a_new_secret_of_a_webhook_is_shown_once_and_signs_with_the_old_one(
    tenant: Tenant, at_console: SignedIn, api_services: Services
) -> None:
    steward = at_console(tenant, O)
    asked = {"url": "https://hooks.example.org/told", "events": "job.published"}
    made = steward.post("/console/webhooks", **asked).text
    (path,) = set(re.findall(r'"(/console/webhooks/[^"/]+)"', made))
    (first,) = SECRET.findall(made)
    rotated = steward.post(f"{path}/rotate")
    (second,) = SECRET.findall(rotated.text)
    assert first != second
    assert rotated.headers["Cache-Control"] == "no-store"
    for page in (steward.get(path).text, steward.get("/console/webhooks").text):
        assert first not in page
        assert second not in page
    with api_services.db.transaction() as session:
        row = service.get(session, tenant=tenant.name, endpoint_id=path.rpartition("/")[2])
        kept = endpoints.secrets_of(api_services.settings, row)
    assert [each.text for each in kept] == [second, first]
    answers = [steward.post(f"{path}/rotate").status_code for _ in range(endpoints.MAX_SECRETS)]
    assert answers[-1] == 409


def test_an_exposed_account_says_since_when_and_by_which_job(
    tenant: Tenant, at_console: SignedIn, api_services: Services
) -> None:
    dataset_id = tenant.ready()
    account_id = tenant.call("GET", f"/datasets/{dataset_id}").json()["account_id"]
    curator, requester, auditor = at_console(tenant, C), at_console(tenant, R), at_console(tenant, A)
    at = f"/console/datasets/{dataset_id}"
    assert "The account is exposed" not in curator.get(at).text
    job_id = tenant.submit(dataset_id, "0.1").json()["id"]
    for digests in ({}, {"edges.parquet": "a" * 64}):  # it opened its graph, and published
        with api_services.db.transaction() as session:
            ledger.expose(
                session, account_id, job_id=job_id, digests=digests, actor="worker", reason="no guarantee"
            )
    entries = tenant.call("GET", f"/datasets/{dataset_id}/ledger").json()["items"]
    first = next(entry for entry in entries if entry["kind"] == "expose")
    page = curator.get(at).text
    assert "The account is exposed" in page
    assert f'href="/console/jobs/{job_id}"' in page
    assert first["hash"] in page
    assert first["hash"] in auditor.get(at).text
    told = requester.get(at).text
    assert "The account is exposed" in told
    assert first["hash"] not in told  # when it happened is for those who read the ledger
    assert "Exposed: no epsilon" in requester.get("/console/datasets").text


def test_a_curator_lets_a_blocked_account_take_jobs_again(
    tenant: Tenant, at_console: SignedIn, database_of: Database
) -> None:
    dataset_id = tenant.ready()
    account_id = tenant.call("GET", f"/datasets/{dataset_id}").json()["account_id"]
    block(database_of, account_id)
    curator, at = at_console(tenant, C), f"/console/datasets/{dataset_id}"
    assert f"{at}/unblock" not in at_console(tenant, R).get(at).text
    assert "The account is blocked" in curator.get(at).text
    assert curator.post(f"{at}/unblock", reason=" ").status_code == 422
    assert (
        curator.post(f"{at}/unblock", reason="hosts were replaced").headers["Location"].endswith("unblocked")
    )
    assert "The account is blocked" not in curator.get(at).text
    last = tenant.call("GET", f"/datasets/{dataset_id}/ledger").json()["items"][-1]
    assert (last["kind"], last["reason"]) == ("adjust", "hosts were replaced")
