"""Cursors: they lead on in the list that gave them out, for the caller it gave them to, and nowhere else."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InvalidInput
from core.identity.models import Role
from core.identity.service import Principal
from core.jobs.models import JobState
from core.settings import Settings
from core.workflows.common import paging
from core.workflows.common.context import Services

SETTINGS = Settings(master_key="11" * 32, page_size=3)
OTHERS = Settings(master_key="22" * 32, page_size=3)


def services(settings: Settings = SETTINGS) -> Services:
    return Services(db=None, store=None, settings=settings)  # type: ignore[arg-type]


def caller(tenant: str = "acme") -> Principal:
    return Principal(tenant=tenant, key_id="key_1", name="k", roles=frozenset({Role.CURATOR}))


def page(cursor: str | None = None, limit: int | None = None, **other: Any) -> paging.Paging:
    settings, tenant, name = (other.pop(key, None) for key in ("settings", "tenant", "name"))
    return paging.paged(
        services(settings or SETTINGS), caller(tenant or "acme"), name or "jobs", cursor, limit, **other
    )


GIVEN = page(state="queued").cursor((7, "job_1"))


def test_a_cursor_leads_to_where_the_page_ended() -> None:
    assert page(GIVEN, state="queued").place == [7, "job_1"]


@pytest.mark.parametrize(
    "elsewhere",
    [
        {},
        {"state": "running"},
        {"state": "queued", "dataset_id": "ds_1"},
        {"state": "queued", "tenant": "other"},
        {"state": "queued", "name": "streams"},
        {"state": "queued", "settings": OTHERS},
    ],
)
def test_it_is_no_cursor_of_another_list_tenant_filter_or_service(elsewhere: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as caught:
        page(GIVEN, **elsewhere)
    assert (caught.value.message, caught.value.members) == (paging.FOREIGN, {"field": "cursor"})


@given(st.integers(0, len(GIVEN) - 1), st.characters(codec="utf-8"))
def test_no_character_of_it_can_be_changed(position: int, character: str) -> None:
    changed = GIVEN[:position] + character + GIVEN[position + 1 :]
    if changed == GIVEN:
        return
    with pytest.raises(InvalidInput) as caught:
        page(changed, state="queued")
    assert caught.value.message == paging.FOREIGN


@given(st.text(max_size=200))
def test_no_text_is_taken_for_one(text: str) -> None:
    with pytest.raises(InvalidInput):
        page(text, state="queued")


def test_a_place_without_its_signature_is_refused() -> None:
    for signature in (b"", bytes(32), b"x" * 32):
        forged = base64.urlsafe_b64encode(signature + b'[7,"job_1"]').decode()
        with pytest.raises(InvalidInput):
            page(forged, state="queued")


def test_pages_are_cut_to_size_and_the_last_one_has_no_cursor() -> None:
    rows = [SimpleNamespace(id=f"r{n}", created_at=datetime(2026, 1, n, tzinfo=UTC)) for n in range(1, 5)]
    first = page()
    shown, more = first.cut(rows, paging.by_age)
    assert [row.id for row in shown] == ["r1", "r2", "r3"]
    assert more is not None
    assert page(more).before == (rows[2].created_at, "r3")
    assert page(more).cut(rows[3:], paging.by_age) == (rows[3:], None)


@pytest.mark.parametrize("limit", [0, -1, 501])
def test_a_page_has_a_size(limit: int) -> None:
    with pytest.raises(InvalidInput) as caught:
        page(limit=limit)
    assert caught.value.members == {"field": "limit"}
    assert (page().size, page(limit=500).size) == (3, 500)


def test_an_unknown_state_is_refused_with_those_that_there_are() -> None:
    paging.require_state("queued", JobState)
    paging.require_state(None, JobState)
    with pytest.raises(InvalidInput) as caught:
        paging.require_state("finished", JobState)
    assert caught.value.members["field"] == "state"
    assert "queued" in caught.value.members["how_to_mend"]
