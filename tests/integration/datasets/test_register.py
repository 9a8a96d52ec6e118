"""Registration: one account a domain, one key a dataset, closed to what does not fit."""

from __future__ import annotations

import threading
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy import select
from sqlalchemy.orm import Session

from core.datasets import repository
from core.datasets.models import Dataset, DatasetKey
from core.errors import Conflict, Forbidden, InvalidInput, NotFound
from core.graphs.schema import GraphSchema
from core.identity.models import Role
from core.ledger import service as ledger
from core.workflows.common.policies import policy_of
from core.workflows.datasets import queries
from core.workflows.datasets.register import confirm_schema
from tests.integration.datasets.conftest import SCHEMA, Curator
from tests.support.patience import PATIENCE_SECONDS


def test_a_registered_dataset_has_an_account_and_a_key(curator: Curator) -> None:
    dataset = curator.register(epsilon="2.5", delta="1e-6")
    view = queries.get_dataset(curator.services, curator.principal, dataset.id)
    assert (view.state, view.protection_domain, view.unit, view.filter) == (
        "registered",
        "trial",
        "edge",
        "basic",
    )
    assert view.policy.kinds == ("pure", "approximate")
    statement = queries.budget(curator.services, curator.principal, dataset.id)
    assert statement.capacity.nano_epsilon == 2_500_000_000
    assert statement.capacity.delta_atto == 10**12
    with curator.services.db.transaction() as session:
        key = session.scalars(select(DatasetKey)).one()
        assert key.dataset_id == dataset.id
        assert [
            entry.kind for entry in ledger.entries(session, dataset.account_id, after=0, limit=9).entries
        ] == ["grant"]


def test_datasets_of_one_domain_share_the_account(curator: Curator) -> None:
    one = curator.register(name="a", protection_domain="ward")
    two = curator.register(name="b", protection_domain="ward")
    other = curator.register(name="c")
    assert one.account_id == two.account_id != other.account_id
    for terms in ({"epsilon": "2"}, {"unit": "event", "graph_schema": None}, {"delta": "1e-9"}):
        with pytest.raises(Conflict):
            curator.register(name="d", protection_domain="ward", **terms)
    with pytest.raises(Conflict, match="public"):
        curator.register(name="d", protection_domain="ward", public=True)


def test_records_are_not_added_to_an_account_that_counts_whole_edges(curator: Curator) -> None:
    stars = {"name": "stars", "kind": "integer", "bounds": [1, 5]}
    each: dict[str, Any] = {"attributes": [stars], "multiplicity": "each", "records_per_slot": 3}
    whole, apart = (
        GraphSchema.model_validate(
            {"node_types": [{"count": 9}], "edge_types": [{**each, "records_apart": on}]}
        )
        for on in (False, True)
    )
    curator.register(name="rows", protection_domain="rows", graph_schema=apart)
    curator.register(name="more rows", protection_domain="rows", graph_schema=apart)
    curator.register(name="edges", protection_domain="rows", graph_schema=whole)
    curator.register(name="first", protection_domain="edges", graph_schema=whole)
    with pytest.raises(Conflict, match="edges with all of their records; leave records_apart out"):
        curator.register(name="second", protection_domain="edges", graph_schema=apart)
    waiting = curator.register(name="third", protection_domain="edges", graph_schema=None)
    with pytest.raises(Conflict, match="edges with all of their records"):
        confirm_schema(curator.services, curator.principal, waiting.id, apart)


@pytest.mark.parametrize(
    "name", ["Besucher, März 2024 (2. Lauf)", "患者 → 病院", "A/B: \"mail\" & 'co' <1>", "e\u0301t\u00e9"]
)
def test_a_name_is_any_printable_text_and_alike_names_are_one(curator: Curator, name: str) -> None:
    dataset = curator.register(name=f"  {name} ")
    assert dataset.name == unicodedata.normalize("NFC", name)
    with pytest.raises(Conflict, match="name exists"):
        curator.register(name=unicodedata.normalize("NFD", name))


@pytest.mark.parametrize("name", ["", "   ", "a\nb", "a\x00", "a\u200bb", "a\u202eb", "a\u00a0b", "x" * 129])
def test_what_cannot_be_seen_is_no_name(curator: Curator, name: str) -> None:
    for field in ("name", "protection_domain"):
        with pytest.raises(ValueError, match=field):
            curator.register(**{field: name})


def test_a_public_graph_takes_releases_of_every_kind_unless_its_policy_or_its_domain_says_otherwise(
    curator: Curator,
) -> None:
    def kinds(**declared: object) -> list[str]:
        return list(policy_of(curator.register(**declared)).kinds)

    assert kinds(name="demo", public=True) == ["pure", "approximate", "none"]
    assert kinds(name="more", public=True, protection_domain="demo") == ["pure", "approximate", "none"]
    assert kinds(name="few", public=True, policy={"kinds": ["pure"]}) == ["pure"]
    assert kinds(name="fewer", public=True, protection_domain="few", policy={"kinds": ["pure"]}) == ["pure"]
    assert kinds(name="two", public=True, policy={"kinds": ["pure", "approximate"]}) == [
        "pure",
        "approximate",
    ]
    assert kinds(name="as", public=True, protection_domain="two") == ["pure", "approximate"]
    assert kinds(name="secret") == ["pure", "approximate"]


def test_one_of_two_registrations_of_a_name_at_one_moment_is_a_conflict(
    curator: Curator, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = threading.Barrier(2)
    look = repository.named

    def together(session: Session, tenant: str, name: str) -> Dataset | None:
        found = look(session, tenant, name)
        both.wait(timeout=PATIENCE_SECONDS)
        return found

    monkeypatch.setattr(repository, "named", together)
    with ThreadPoolExecutor(2) as pool:
        tries = [pool.submit(curator.register, protection_domain=domain) for domain in ("a", "b")]
        refused = [error for error in (t.exception() for t in tries) if error is not None]
    assert [type(error) for error in refused] == [Conflict]


def test_a_refused_registration_leaves_nothing(curator: Curator) -> None:
    curator.register()
    with pytest.raises(Conflict, match="name"):
        curator.register(protection_domain="elsewhere")
    with pytest.raises(InvalidInput):
        curator.register(name="w", unit="w-event")
    assert [view.name for view in queries.list_datasets(curator.services, curator.principal).items] == [
        "trial"
    ]
    curator.register(name="elsewhere", epsilon="7")  # no account of that domain was left behind


@pytest.mark.parametrize(
    ("epsilon", "field"), [("0", "epsilon"), ("1e9", "epsilon"), ("nan", "epsilon"), (-1, "epsilon")]
)
def test_capacities_have_bounds(curator: Curator, epsilon: object, field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        curator.register(epsilon=epsilon)
    assert refused.value.members["field"] == field


def test_a_missing_master_key_stops_registration(curator: Curator) -> None:
    settings = curator.services.settings.model_copy(update={"master_key": SecretStr("")})
    blind = Curator(replace(curator.services, settings=settings), curator.principal)
    with pytest.raises(InvalidInput, match="GRAPHVEIL_MASTER_KEY"):
        blind.register()
    assert queries.list_datasets(curator.services, curator.principal).items == []


def test_roles_and_tenants(curator: Curator) -> None:
    dataset = curator.register()
    requester = replace(curator.principal, roles=frozenset({Role.REQUESTER}))
    auditor = replace(curator.principal, roles=frozenset({Role.AUDITOR}))
    operator = replace(curator.principal, roles=frozenset({Role.OPERATOR}))
    stranger = replace(curator.principal, tenant="other")
    services = curator.services
    for caller in (requester, auditor, operator):
        with pytest.raises(Forbidden):
            Curator(services, caller).register(name="x")
        with pytest.raises(Forbidden):
            Curator(services, caller).send(dataset)
        with pytest.raises(Forbidden):
            confirm_schema(services, caller, dataset.id, SCHEMA)
    with pytest.raises(Forbidden):
        queries.get_dataset(services, operator, dataset.id)
    with pytest.raises(Forbidden):
        queries.ledger(services, requester, dataset.id)
    assert queries.ledger(services, auditor, dataset.id).items[0].kind == "grant"
    for caller in (requester, auditor):
        seen = queries.get_dataset(services, caller, dataset.id)
        assert (seen.version, seen.proposed_schema) == (None, None)
        assert queries.budget(services, caller, dataset.id).account_id == dataset.account_id
    for ask in (queries.get_dataset, queries.budget, queries.ledger):
        with pytest.raises(NotFound):
            ask(services, stranger, dataset.id)
    with pytest.raises(NotFound):
        Curator(services, stranger).send(dataset)
    assert queries.list_datasets(services, stranger).items == []


def test_pages(curator: Curator) -> None:
    ids = [curator.register(name=f"d{number}").id for number in range(5)]
    first = queries.list_datasets(curator.services, curator.principal, limit=3)
    rest = queries.list_datasets(curator.services, curator.principal, cursor=first.next_cursor, limit=3)
    assert sorted(view.id for view in (*first.items, *rest.items)) == sorted(ids)
    with pytest.raises(InvalidInput):
        queries.list_datasets(curator.services, curator.principal, limit=501)
