"""How often the commonest requests go to the database: each time costs a tenth of a request."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import event

from core.identity.models import Role
from core.workflows.common.context import Services
from tests.integration.api.conftest import Tenant


@contextmanager
def statements(services: Services) -> Iterator[list[str]]:
    """What is sent to the database meanwhile, BEGIN, COMMIT and what concerns the key apart.

    A key is looked up every few seconds only: see tests/integration/identity.
    """
    sent: list[str] = []

    def note(connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        if "api_keys" not in statement:
            sent.append(" ".join(statement.split()))

    event.listen(services.db.engine, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        event.remove(services.db.engine, "before_cursor_execute", note)


@pytest.mark.parametrize("repeat", [False, True], ids=["looks for a twin", "does not"])
def test_a_submission_takes_five_statements_at_most(
    house: Tenant, ready_dataset: str, api_services: Services, repeat: bool
):
    with statements(api_services) as sent:
        answer = house.submit(ready_dataset, "0.0102", repeat=repeat)
    assert answer.status_code == 202
    assert len(sent) <= 5, "\n".join(sent)
    assert not [each for each in sent if "notify" in each.lower()]


def test_a_repeat_takes_three_statements_at_most(house: Tenant, ready_dataset: str, api_services: Services):
    key = secrets.token_hex(8)
    house.submit(ready_dataset, "0.0103", key=key)
    with statements(api_services) as sent:
        answer = house.submit(ready_dataset, "0.0103", key=key)
    assert answer.headers["Idempotency-Replayed"] == "true"
    assert len(sent) <= 3, "\n".join(sent)


def test_a_poll_takes_one_statement(house: Tenant, published_job: str, api_services: Services):
    shown = house.call("GET", f"/jobs/{published_job}")
    held = {"If-None-Match": shown.headers["ETag"]}
    for roles in ((), (Role.REQUESTER,)):
        with statements(api_services) as sent:
            assert house.call("GET", f"/jobs/{published_job}", *roles).status_code == 200
        assert len(sent) == 1, "\n".join(sent)
    with statements(api_services) as sent:
        assert house.call("GET", f"/jobs/{published_job}", headers=held).status_code == 304
    assert len(sent) == 1, "\n".join(sent)


def test_the_answer_to_a_submission_is_the_job_as_it_is_read(house: Tenant, ready_dataset: str):
    answer = house.submit(ready_dataset, "0.0104", label="as read")
    job = answer.json()
    assert house.call("GET", f"/jobs/{job['id']}").json() == job
    assert answer.headers["Location"].endswith(f"/jobs/{job['id']}")
