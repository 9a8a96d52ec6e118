"""Who may stop what: a requester what is its own or its team's, a curator anything of the tenant's."""

from __future__ import annotations

import dataclasses

import pytest

from core.errors import Forbidden
from core.identity.models import Role
from core.identity.service import Principal
from core.workflows.common.context import Services
from core.workflows.jobs.cancel import cancel_job
from core.workflows.streams.lifecycle import close_stream
from tests.support.releases import job_row, queued_job, ready_dataset
from tests.support.streams import open_stream, stream_dataset

ASKED = Principal("acme", "key_a", "a", frozenset({Role.REQUESTER}), person="anna", team="cardiology")
CALLERS = {
    "with another key": (dataclasses.replace(ASKED, key_id="key_b"), True),
    "of the team": (dataclasses.replace(ASKED, key_id="key_c", person="carl"), True),
    "of another team": (dataclasses.replace(ASKED, key_id="key_d", person="dora", team="oncology"), False),
    "of no team": (dataclasses.replace(ASKED, key_id="key_e", person="emil", team=None), False),
    "as a curator": (
        Principal("acme", "key_f", "f", frozenset({Role.CURATOR}), person="fred", team="oncology"),
        True,
    ),
}
FORMER = dataclasses.replace(ASKED, team=None)


@pytest.mark.parametrize(("caller", "may"), CALLERS.values(), ids=CALLERS)
def test_a_job_is_stopped_by_its_own_people(
    services: Services, principal: Principal, caller: Principal, may: bool
) -> None:
    job = queued_job(services, ASKED, ready_dataset(services, principal).id)
    if may:
        assert cancel_job(services, caller, job.id).state == "cancelled"
        return
    with pytest.raises(Forbidden, match="another team's") as refused:
        cancel_job(services, caller, job.id)
    assert refused.value.members == {"required_roles": ["curator"]}
    assert job_row(services, job.id).state == "queued"


@pytest.mark.parametrize(("caller", "may"), CALLERS.values(), ids=CALLERS)
def test_a_stream_is_closed_by_its_own_people(
    services: Services, principal: Principal, caller: Principal, may: bool
) -> None:
    stream = open_stream(services, ASKED, stream_dataset(services, principal).id)
    if may:
        assert close_stream(services, caller, stream.id).state == "closed"
        return
    with pytest.raises(Forbidden, match="another team's"):
        close_stream(services, caller, stream.id)


def test_two_without_a_team_are_no_team(services: Services, principal: Principal) -> None:
    job = queued_job(services, FORMER, ready_dataset(services, principal).id)
    with pytest.raises(Forbidden):
        cancel_job(services, dataclasses.replace(FORMER, key_id="key_g", person="gabi"), job.id)
    assert cancel_job(services, FORMER, job.id).state == "cancelled"
