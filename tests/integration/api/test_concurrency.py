"""Many callers at once, over a real socket: the budget is sold once."""

from __future__ import annotations

import secrets
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from core.db.session import Database
from core.identity.models import Role
from core.jobs.models import Job
from core.ledger import service as ledger
from tests.integration.api.conftest import EDGES, Tenant
from tests.support.faults import until

CALLERS = 64


def post(address: str, tenant: Tenant, dataset_id: str, keys: list[str]) -> list[httpx.Response]:
    """One POST /jobs for each key, all under way together, each on a connection of its own."""
    headers = {"Authorization": f"Bearer {tenant.token(Role.REQUESTER)}"}
    body = {"dataset_id": dataset_id, "epsilon": "1", "repeat": True}

    def one(key: str) -> httpx.Response:
        with httpx.Client(base_url=address, headers=headers) as client:
            return client.post("/jobs", json=body, headers={"Idempotency-Key": key})

    with ThreadPoolExecutor(len(keys)) as pool:
        return list(pool.map(one, keys))


def test_the_last_unit_of_a_budget_is_sold_once(address: str, tenant: Tenant, database_of: Database):
    dataset_id = tenant.ready(epsilon="1")
    answers = post(address, tenant, dataset_id, [secrets.token_hex(8) for _ in range(CALLERS)])
    assert Counter(answer.status_code for answer in answers) == {202: 1, 409: CALLERS - 1}
    for problem in (answer.json() for answer in answers if answer.status_code == 409):
        assert problem["type"] == "/problems/budget-exceeded"
        assert (problem["requested"], problem["remaining"], problem["reserved"]) == ("1", "0", "1")
        assert problem["earliest_expiry_at"] is not None
    account_id = tenant.call("GET", f"/datasets/{dataset_id}/budget").json()["account_id"]
    with database_of.transaction() as session:
        kinds = [entry.kind for entry in ledger.entries(session, account_id, after=0, limit=100).entries]
        assert kinds == ["grant", "reserve"]
        assert ledger.verify(session, account_id).intact


def test_one_key_makes_one_job_however_many_send_it(address: str, tenant: Tenant):
    dataset_id = tenant.ready(epsilon="5")
    answers = post(address, tenant, dataset_id, ["the-same-key"] * 16)
    assert Counter(answer.status_code for answer in answers) == {202: 16}
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert sum("Idempotency-Replayed" in answer.headers for answer in answers) == 15
    assert tenant.call("GET", f"/datasets/{dataset_id}/budget").json()["reserved"]["epsilon"] == "1"


def test_no_202_leaves_before_its_commit(
    address: str, house: Tenant, ready_dataset: str, database_of: Database
):
    headers = {"Authorization": f"Bearer {house.token(Role.REQUESTER)}"}
    with httpx.Client(base_url=address, headers=headers) as client, database_of.engine.connect() as other:
        for _ in range(20):
            body = {"dataset_id": ready_dataset, "epsilon": "0.01", "repeat": True}
            answer = client.post("/jobs", json=body, headers={"Idempotency-Key": secrets.token_hex(8)})
            found = other.execute(Job.__table__.select().where(Job.id == answer.json()["id"])).all()
            other.rollback()
            assert len(found) == 1
            client.post(f"/jobs/{answer.json()['id']}/cancel")


def test_an_upload_that_breaks_off_leaves_nothing(address: str, tenant: Tenant):
    dataset_id = tenant.register()["id"]
    headers = {"Authorization": f"Bearer {tenant.token(Role.CURATOR)}"}

    def broken():
        yield EDGES[:100].encode()
        raise ConnectionError("the sender is gone")

    path = f"/datasets/{dataset_id}/content"
    with httpx.Client(base_url=address, headers=headers) as client:
        with pytest.raises(ConnectionError):
            client.put(path, content=broken())
        # The service may still be noticing that the first sender is gone.
        again = until(
            lambda: (answer := client.put(path, content=EDGES.encode())).status_code != 409 and answer
        )
    assert again.status_code == 200
    part = tenant.call("GET", f"/datasets/{dataset_id}").json()["version"]["parts"][0]
    assert part["size_bytes"] == len(EDGES)
