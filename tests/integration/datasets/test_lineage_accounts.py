"""One content, one account, whatever name it is uploaded under."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from core.ledger import service as ledger
from core.workflows.datasets import queries
from core.workflows.operations.archive import archive_dataset
from tests.integration.datasets.conftest import EDGES, SCHEMA, Curator

SAME = b"source,target\n4,3\n2,1\n0,2\n1,0\n"  # the same four edges, in another order and direction


def account(curator: Curator, dataset_id: str) -> str:
    return queries.get_dataset(curator.services, curator.principal, dataset_id).account_id


def test_the_same_content_attaches_to_the_same_account(curator: Curator) -> None:
    first = curator.ready(name="first", epsilon="2")
    second = curator.register(name="second", epsilon="5")
    provisional = second.account_id
    assert provisional != first.account_id
    assert curator.validate(curator.send(second, SAME)).state == "ready"
    assert account(curator, second.id) == first.account_id
    assert queries.budget(curator.services, curator.principal, second.id).capacity.nano_epsilon == 2 * 10**9
    with curator.services.db.transaction() as session:
        kinds = [entry.kind for entry in ledger.entries(session, provisional, after=0, limit=9).entries]
    assert kinds == ["grant"]


def test_a_curator_is_told_whose_budget_a_known_content_draws_on(curator: Curator) -> None:
    first = curator.validate(curator.send(curator.register(name="first", epsilon="2")))
    assert first.ingest_report is not None
    assert "message" not in first.ingest_report
    second = curator.register(name="second", epsilon="5")
    joined = curator.validate(curator.send(second, SAME))
    assert joined.ingest_report is not None
    told = joined.ingest_report["message"]
    assert "the protection domain 'first'" in told
    assert "epsilon 2 in all" in told
    again = curator.validate(curator.send(second, SAME))
    assert again.ingest_report is not None
    assert "message" not in again.ingest_report  # it draws on that account already


def test_what_is_public_claims_nothing_and_joins_nobody(curator: Curator) -> None:
    demo = curator.ready(name="demo", public=True)
    other = curator.ready(SAME, name="other", public=True)
    assert account(curator, demo.id) == demo.account_id
    assert account(curator, other.id) == other.account_id != demo.account_id
    secret = curator.ready(name="secret")
    assert account(curator, secret.id) == secret.account_id
    assert curator.validate(curator.send(curator.register(name="third", public=True))).state == "rejected"


def test_other_terms_are_rejected_with_the_domain_to_use(curator: Curator) -> None:
    curator.ready(name="first", protection_domain="ward 7")
    second = curator.register(name="second", filter="renyi", delta="1e-6")
    rejected = curator.validate(curator.send(second, SAME))
    assert rejected.state == "rejected"
    assert rejected.ingest_report is not None
    message = rejected.ingest_report["message"]
    assert "'ward 7'" in message
    assert "filter basic instead of renyi" in message
    assert account(curator, second.id) == second.account_id
    assert curator.objects() == [key for key in curator.objects() if "graph" in key]


def test_a_known_content_does_not_attach_under_a_looser_policy(curator: Curator) -> None:
    first = curator.ready(name="first", policy={"approval_above_epsilon": "0.5"})
    loose = curator.register(name="loose")
    rejected = curator.validate(curator.send(loose, SAME))
    assert rejected.state == "rejected"
    assert rejected.ingest_report is not None
    assert "policy allows more" in rejected.ingest_report["message"]
    assert account(curator, loose.id) == loose.account_id
    alike = curator.register(name="alike", policy={"approval_above_epsilon": "0.5", "methods": ["edgerand"]})
    assert curator.validate(curator.send(alike, SAME)).state == "ready"
    assert account(curator, alike.id) == first.account_id


def test_a_public_copy_of_a_secret_is_rejected(curator: Curator) -> None:
    curator.ready(name="secret")
    copy = curator.register(name="demo", public=True)
    assert curator.validate(curator.send(copy)).state == "rejected"


def test_a_dataset_in_use_does_not_move(curator: Curator) -> None:
    curator.ready(name="first")
    second = curator.ready(b"source,target\n0,5\n", name="second")
    rejected = curator.validate(curator.send(second, EDGES))
    assert rejected.state == "rejected"
    assert queries.get_dataset(curator.services, curator.principal, second.id).state == "ready"
    assert account(curator, second.id) == second.account_id


def test_another_tenant_has_its_own_account_of_the_same_content(curator: Curator) -> None:
    first = curator.ready()
    stranger = Curator(curator.services, replace(curator.principal, tenant="other"))
    second = stranger.ready()
    assert account(stranger, second.id) == second.account_id != first.account_id


def test_archiving_does_not_free_the_content(curator: Curator) -> None:
    first = curator.ready(name="first")
    archive_dataset(curator.services, curator.principal, first.id)
    second = curator.ready(SAME, name="second")
    assert account(curator, second.id) == first.account_id


def test_a_wider_universe_does_not_make_another_content(curator: Curator) -> None:
    first = curator.ready(name="first")
    wider = SCHEMA.model_copy(update={"node_types": (SCHEMA.node_types[0].model_copy(update={"count": 60}),)})
    second = curator.ready(name="second", graph_schema=wider)
    assert account(curator, second.id) == first.account_id


def test_other_content_has_its_own_account(curator: Curator) -> None:
    first = curator.ready(name="first")
    second = curator.ready(b"source,target\n0,5\n", name="second")
    assert account(curator, second.id) == second.account_id != first.account_id


def test_two_uploads_of_one_content_at_once_share_one_account(curator: Curator) -> None:
    datasets = [curator.register(name=f"d{number}") for number in range(4)]
    versions = [curator.send(dataset) for dataset in datasets]
    with ThreadPoolExecutor(4) as pool:
        states = [version.state for version in pool.map(curator.validate, versions)]
    assert states == ["ready"] * 4
    assert len({account(curator, dataset.id) for dataset in datasets}) == 1
