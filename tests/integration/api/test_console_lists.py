"""The console's lists: sorted by their columns, narrowed by state, page by page."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import chain

import pytest

from core.identity.models import Role
from core.outbox.models import Topic
from core.settings import Settings
from tests.integration.api.conftest import Tenant
from tests.support.console import Steward

SignedIn = Callable[..., Steward]
ROW = re.compile(r'<th scope="row"><a href="/console/(?:datasets|jobs)/[^"]+">([^<]+)</a>')
NEXT = re.compile(r'<p class="pages"><a href="([^"]+)">')


def read(steward: Steward, path: str) -> list[list[str]]:
    """The names on every page from there on."""
    found = []
    at: str | None = path
    while at is not None:
        page = steward.get(at)
        assert page.status_code == 200, page.text
        found.append(ROW.findall(page.text))
        following = NEXT.search(page.text)
        at = following[1].replace("&amp;", "&") if following else None
    return found


def names_on(steward: Steward, path: str) -> list[str]:
    """The names on all of the pages."""
    return [*chain.from_iterable(read(steward, path))]


@pytest.fixture
def short_pages(api_settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(api_settings), "page_size", 2)


@pytest.mark.usefixtures("short_pages")
def test_datasets_are_sorted_by_name_and_age_page_by_page(tenant: Tenant, at_console: SignedIn) -> None:
    names = ["pear", "apple", "Quince", "fig", "10 plums"]
    for name in names:
        tenant.register(name=name)
    steward = at_console(tenant)
    pages = read(steward, "/console/datasets?sort=name")
    assert [len(page) for page in pages] == [2, 2, 1]
    by_name = [name for page in pages for name in page]
    assert sorted(by_name) == sorted(names)
    assert names_on(steward, "/console/datasets?sort=-name") == by_name[::-1]
    assert names_on(steward, "/console/datasets?sort=created") == names
    assert names_on(steward, "/console/datasets") == names[::-1]
    assert names_on(steward, "/console/datasets?state=registered&sort=created") == names
    assert read(steward, "/console/datasets?state=ready&sort=name") == [[]]
    assert names_on(steward, "/console?sort=name") == by_name
    shown = steward.get("/console/datasets?state=registered&sort=name").text
    assert 'aria-sort="ascending"><a href="/console/datasets?state=registered&amp;sort=-name"' in shown
    assert '<a href="/console/datasets?state=registered&amp;sort=-created"' in shown
    assert 'name="sort" value="name"' in shown  # another state keeps the order


@pytest.mark.usefixtures("short_pages")
def test_jobs_are_sorted_by_age_page_by_page(tenant: Tenant, at_console: SignedIn) -> None:
    dataset_id = tenant.ready()
    labels = [f"job {number}" for number in range(5)]
    for label in labels:
        assert tenant.submit(dataset_id, "0.1", label=label).status_code == 202
    steward = at_console(tenant)
    at = f"/console/jobs?state=queued&dataset_id={dataset_id}"
    assert read(steward, f"{at}&sort=created") == [labels[:2], labels[2:4], labels[4:]]
    assert names_on(steward, at) == labels[::-1]
    assert (
        f'href="/console/jobs?state=queued&amp;dataset_id={dataset_id}&amp;sort=created"'
        in steward.get(at).text
    )


def test_a_list_is_sorted_by_its_own_columns_alone_and_by_its_own_cursor(
    tenant: Tenant, at_console: SignedIn, short_pages: None
) -> None:
    for _ in range(3):
        tenant.register()
    steward = at_console(tenant)
    for path in ("/console/datasets?sort=policy", "/console/jobs?sort=name", "/console?sort=id"):
        refused = steward.get(path)
        assert (refused.status_code, "This list is not sorted by" in refused.text) == (422, True), path
    following = NEXT.search(steward.get("/console/datasets?sort=name").text)
    assert following is not None
    foreign = following[1].replace("&amp;", "&").replace("sort=name", "sort=-name")
    assert steward.get(foreign).status_code == 422


def test_a_list_is_narrowed_by_the_states_that_its_reader_is_shown(
    tenant: Tenant, at_console: SignedIn
) -> None:
    """Which uploads were refused, and that one came at all, follows from data that nobody paid for."""
    tenant.register(name="never sent")
    received = tenant.upload(tenant.register(name="refused")["id"], "source,target\n1,nobody\n").json()
    tenant.work(Topic.INGEST, received["id"])
    tenant.upload(tenant.register(name="being checked")["id"])
    seen = {
        role: {
            state: set(names_on(at_console(tenant, role), f"/console/datasets?state={state}"))
            for state in ("registered", "rejected", "validating", "ready")
        }
        for role in (Role.CURATOR, Role.REQUESTER, Role.AUDITOR)
    }
    assert seen[Role.CURATOR] == {
        "registered": {"never sent"},
        "rejected": {"refused"},
        "validating": {"being checked"},
        "ready": set(),
    }
    shown = {"never sent", "refused", "being checked"}
    for role in (Role.REQUESTER, Role.AUDITOR):
        assert seen[role] == {"registered": shown, "rejected": set(), "validating": set(), "ready": set()}
