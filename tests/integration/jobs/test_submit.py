"""Submission: what is refused, what is reserved, and one job for one key."""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select
from sqlalchemy.dialects import postgresql

from core.datasets import repository as datasets
from core.datasets.models import Dataset
from core.errors import (
    BudgetExceeded,
    DatasetNotReady,
    Forbidden,
    GraphveilError,
    IdempotencyKeyMissing,
    IdempotencyKeyReused,
    InvalidInput,
    KindNotAllowed,
    NotAccepted,
    NotFound,
    TargetNotMet,
    UnknownFormat,
    UnknownMethod,
)
from core.graphs.schema import GraphSchema
from core.identity.models import Role
from core.identity.service import Principal
from core.jobs import repository
from core.jobs.models import Job
from core.outbox.models import OutboxMessage
from core.settings import Settings
from core.workflows.common.context import Services, open_services
from core.workflows.datasets.register import NewDataset, register_dataset
from core.workflows.jobs.queries import get_job
from core.workflows.jobs.questions import QUESTIONS
from core.workflows.jobs.submit import JobRequest, plan_job, submit_job
from core.workflows.operations.archive import archive_dataset
from tests.support.postgres import PostgresCluster
from tests.support.releases import NODES, SCHEMA, queued_job, ready_dataset, spent, violations


@pytest.fixture(scope="module")
def world(
    postgres_cluster: PostgresCluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Services, Dataset]]:
    """Services and a ready dataset of epsilon 900 that the module shares."""
    folder: Path = tmp_path_factory.mktemp("submit")
    name = postgres_cluster.create()
    settings = Settings(
        database_url=postgres_cluster.address(name),
        storage_url=(folder / "objects").as_uri(),
        master_key="11" * 32,
        fingerprint_key="22" * 32,
        work_folder=folder / "work",
    )
    opened = open_services(settings)
    principal = Principal("acme", "key_test", "test", frozenset({Role.CURATOR}))
    yield opened, ready_dataset(opened, principal, epsilon="900")
    opened.close()
    postgres_cluster.drop(name)


def ask(dataset: Dataset, **changed: Any) -> JobRequest:
    return JobRequest(**({"dataset_id": dataset.id, "epsilon": "1"} | changed))


def rows(services: Services, dataset: Dataset) -> tuple[int, int]:
    """How many jobs and outbox messages for them there are."""
    with services.db.transaction() as session:
        jobs = session.scalars(select(Job.id).where(Job.dataset_id == dataset.id)).all()
        messages = select(func.count()).where(OutboxMessage.subject_id.in_(jobs))
        return len(jobs), session.execute(messages).scalar_one()


REFUSED: list[tuple[dict[str, Any], type[GraphveilError], str | None]] = [
    ({"method": "nothing"}, UnknownMethod, "method"),
    ({"method": "psgraph", "parameters": {"tail_share": 7}}, InvalidInput, "parameters.tail_share"),
    ({"method": "psgraph", "parameters": {"unknown": 1}}, InvalidInput, "parameters.unknown"),
    ({"parameters": {"count_share": 0.2}}, InvalidInput, "parameters.count_share"),
    ({"formats": ["parquet", "nothing"]}, UnknownFormat, None),
    ({"formats": ["graphml", "graphml"]}, InvalidInput, "formats"),
    ({"edge_types": ["nothing"]}, NotAccepted, "edge_types.0"),
    ({"edge_types": ["edge", "edge"]}, InvalidInput, "edge_types"),
    ({"seed": 1}, InvalidInput, "seed"),
    ({"comparison": True}, NotAccepted, "comparison"),
    ({"epsilon": "0"}, InvalidInput, "epsilon"),
    ({"epsilon": "NaN"}, InvalidInput, "epsilon"),
    ({"epsilon": -1}, InvalidInput, "epsilon"),
    ({"delta": "1.5"}, InvalidInput, "delta"),
    ({"epsilon": "1001"}, InvalidInput, "epsilon"),
    ({"epsilon": "901"}, BudgetExceeded, None),
    ({"dataset_id": "ds_nothing"}, NotFound, None),
]


@pytest.mark.parametrize(("changed", "error", "field"), REFUSED)
def test_a_refused_request_leaves_nothing_and_names_its_field(
    changed: dict[str, Any],
    error: type[GraphveilError],
    field: str | None,
    world: tuple[Services, Dataset],
    principal: Principal,
) -> None:
    services, dataset = world
    before = rows(services, dataset)
    request = ask(dataset, **changed)
    for call in (
        lambda: submit_job(services, principal, request, f"refused-{changed}".encode().hex()[:200]),
        lambda: plan_job(services, principal, request),
    ):
        with pytest.raises(error) as caught:
            call()
        if field is not None:
            assert caught.value.members["field"] == field
    assert rows(services, dataset) == before
    assert violations(services) == []


def test_a_key_is_needed_and_must_be_plain(world: tuple[Services, Dataset], principal: Principal) -> None:
    services, dataset = world
    for key, error in ((None, IdempotencyKeyMissing), ("", IdempotencyKeyMissing), ("a b", InvalidInput)):
        with pytest.raises(error):
            submit_job(services, principal, ask(dataset), key)
    with pytest.raises(InvalidInput):
        submit_job(services, principal, ask(dataset), "x" * 256)


def test_roles_and_tenants_are_kept_apart(world: tuple[Services, Dataset], principal: Principal) -> None:
    services, dataset = world
    auditor = dataclasses.replace(principal, roles=frozenset({Role.AUDITOR}))
    with pytest.raises(Forbidden):
        submit_job(services, auditor, ask(dataset), "auditor")
    with pytest.raises(NotFound):
        submit_job(services, dataclasses.replace(principal, tenant="other"), ask(dataset), "other")


def test_a_dry_run_tells_what_submission_would_do_and_does_nothing(
    world: tuple[Services, Dataset], principal: Principal
) -> None:
    services, dataset = world
    before = rows(services, dataset)
    dry = plan_job(services, principal, ask(dataset, epsilon="2.5"))
    assert dry.amounts["epsilon"] == 2_500_000_000
    assert dry.cost.kind == "pure"
    assert dry.edge_types == ("edge",)
    assert rows(services, dataset) == before
    job = queued_job(services, principal, dataset.id, "after-dry", epsilon="2.5")
    assert job.plan_digest == dry.plan_digest
    assert job.spec["amounts"] == dry.amounts
    assert spent(services, job)[1] == dry.budget_after.reserved.epsilon


def test_a_dry_run_and_its_job_say_what_one_release_hides(services: Services, principal: Principal) -> None:
    """Of rows of tables that are apart in words of rows."""
    stars = {"name": "stars", "kind": "integer", "bounds": [1, 5]}
    visits = {"name": "visits", "attributes": [stars], "multiplicity": "each", "records_per_slot": 3}
    told = {
        "apart": "any one row of visits, there or not; a changed row counts twice, k rows count k times",
        "whole": "any one edge of the graph, which one of them lacks",
    }
    ring = [f"{node},{(node + 1) % NODES},3" for node in range(NODES)]
    edges = "\n".join(["source,target,stars", *ring, *ring[:9]]).encode()
    for name, words in told.items():
        kinds = [{"name": "node", "count": NODES}]
        declared = {"node_types": kinds, "edge_types": [{**visits, "records_apart": name == "apart"}]}
        schema = GraphSchema.model_validate(declared)
        dataset = ready_dataset(services, principal, name, edges=edges, graph_schema=schema)
        assert plan_job(services, principal, ask(dataset)).protects == words
        job = queued_job(services, principal, dataset.id, name)
        assert get_job(services, principal, job.id).protects == words


def test_a_dry_run_predicts_precision_and_never_looks_at_the_graph(
    services: Services, principal: Principal
) -> None:
    dataset = ready_dataset(services, principal)
    asked = {"epsilon": "1", "assume": {"edges": 200, "nodes": 100}}
    dry = plan_job(services, principal, ask(dataset, **asked))
    told = {line.query: line for line in dry.precision}
    assert {"edge_count", "degrees", "group_matrix"} <= set(told)
    assert 0 < told["edge_count"].deviation < told["edge_count"].within
    known = {answer.question: answer.value for answer in dry.expected}
    assert set(known) == set(QUESTIONS) - {"triangles_within_95"}  # no bound on degrees is declared
    assert known["edges_relative_95"] == told["edge_count"].within / 200
    with services.db.transaction() as session:
        (version,) = datasets.versions(session, [dataset.id])
    assert services.store.exists(version.object_key)
    services.store.put(version.object_key, [secrets.token_bytes(4096)])
    assert plan_job(services, principal, ask(dataset, **asked)).model_dump_json() == dry.model_dump_json()
    finer = plan_job(services, principal, ask(dataset, epsilon="2"))
    assert all(line.within <= told[line.query].within for line in finer.precision)
    symmetric = {"method": "edgerand", "parameters": {"form": "symmetric"}}
    assert plan_job(services, principal, ask(dataset, epsilon="1", **symmetric)).precision == ()


def test_a_target_reserves_the_smallest_epsilon_that_meets_it(
    services: Services, principal: Principal
) -> None:
    dataset = ready_dataset(services, principal)
    asked = {"epsilon": None, "method": "dgg", "target": {"edges_within_95": 30, "degree_within_95": 20}}
    dry = plan_job(services, principal, ask(dataset, **asked))
    assert dry.solved is not None
    assert dry.solved.binds == "edges_within_95"
    assert dry.cost.epsilon == dry.solved.epsilon
    assert rows(services, dataset) == (0, 0)
    job, _ = submit_job(services, principal, ask(dataset, **asked), "target")
    assert (spent(services, job)[1], job.plan_digest) == (dry.solved.epsilon, dry.plan_digest)
    again, replayed = submit_job(services, principal, ask(dataset, **asked), "target")
    assert (again.id, replayed) == (job.id, True)
    named = plan_job(services, principal, ask(dataset, method="dgg", epsilon=dry.solved.epsilon))
    assert (named.identical_to, named.solved) == (job.id, None)


@pytest.mark.parametrize(
    ("changed", "kind", "field"),
    [
        ({"epsilon": None}, InvalidInput, "epsilon"),
        ({"target": {"edges_within_95": 9}}, InvalidInput, "epsilon"),
        (
            {
                "epsilon": None,
                "method": "auto",
                "parameters": {"groups": 1},
                "target": {"edges_within_95": 9},
            },
            InvalidInput,
            "parameters.groups",
        ),
        (
            {"epsilon": None, "target": {"edges_within_95": 9, "assume": {"edges": 10**9}}},
            InvalidInput,
            "target.assume.edges",
        ),
        ({"epsilon": None, "target": {"edges_relative_95": 0.1}}, InvalidInput, "target.edges_relative_95"),
        ({"epsilon": None, "method": "gvae", "target": {"edges_within_95": 9}}, InvalidInput, "target"),
        ({"epsilon": None, "target": {"edges_within_95": 1}}, TargetNotMet, None),
    ],
)
def test_a_target_that_cannot_be_met_reserves_nothing(
    services: Services, principal: Principal, changed: dict[str, Any], kind: type[Exception], field: str
) -> None:
    dataset = ready_dataset(services, principal)
    for call in (plan_job, lambda *given: submit_job(*given, "key")):
        with pytest.raises(kind) as refused:
            call(services, principal, ask(dataset, **{"method": "dgg", **changed}))
        assert refused.value.members.get("field") == field
    assert rows(services, dataset) == (0, 0)


def test_a_map_of_relations_is_a_method(services: Services, principal: Principal) -> None:
    dataset = ready_dataset(services, principal)
    (name,) = (each.name for each in SCHEMA.edge_types)
    mapped = ask(dataset, method={name: {"method": "dgg", "parameters": {}}})
    assert mapped.content()["method"] == {name: {"method": "dgg", "parameters": {}}}
    dry = plan_job(services, principal, mapped)
    assert (dry.method, dry.plan_digest) == (
        "dgg",
        plan_job(services, principal, ask(dataset, method="dgg")).plan_digest,
    )
    assert queued_job(services, principal, dataset.id, method={"*": "dgg"}).method == "dgg"
    for method, kind, field in (
        ({"nobody": "dgg"}, NotAccepted, "method.nobody"),
        ({name: "no_such"}, UnknownMethod, "method"),
        ({name: {"method": "dgg", "parameters": {"x": 1}}}, InvalidInput, "parameters.x"),
    ):
        with pytest.raises(kind) as refused:
            plan_job(services, principal, ask(dataset, method=method))
        assert refused.value.members.get("field") == field


def test_auto_is_chosen_at_the_epsilon_that_a_target_takes(services: Services, principal: Principal) -> None:
    dataset = ready_dataset(services, principal)
    asked = ask(dataset, epsilon=None, method="auto", target={"edges_within_95": 500})
    dry = plan_job(services, principal, asked)
    assert dry.solved is not None
    named = plan_job(services, principal, ask(dataset, method="auto", epsilon=dry.solved.epsilon))
    assert (dry.method, dry.chosen_because) == (named.method, named.chosen_because)
    assert (dry.plan_digest, dry.expected) == (named.plan_digest, named.expected)


def test_what_a_target_assumes_is_what_the_request_assumes(services: Services, principal: Principal) -> None:
    dataset = ready_dataset(services, principal)
    wish, size = {"edges_relative_95": 0.5}, {"edges": 50}
    common = {"epsilon": None, "method": "dgg"}
    within = ask(dataset, **common, target={**wish, "assume": size})
    beside = ask(dataset, **common, target=wish, assume=size)
    twice = ask(dataset, **common, target={**wish, "assume": size}, assume=size)
    assert within.content() == beside.content() == twice.content()
    plans = [plan_job(services, principal, each) for each in (within, beside, twice)]
    assert plans[0] == plans[1] == plans[2]
    differs = ask(dataset, **common, target={**wish, "assume": size}, assume={"edges": 51})
    for call in (plan_job, lambda *given: submit_job(*given, "key")):
        with pytest.raises(InvalidInput, match="say it once") as refused:
            call(services, principal, differs)
        assert refused.value.members["field"] == "target.assume"


def test_a_target_stays_within_policy_and_balance(services: Services, principal: Principal) -> None:
    dataset = ready_dataset(services, principal, policy={"max_epsilon_per_job": "0.5"})
    asked = ask(dataset, epsilon=None, method="dgg", target={"edges_within_95": 30})
    with pytest.raises(TargetNotMet) as refused:
        plan_job(services, principal, asked)
    assert (refused.value.members["limited_by"], refused.value.members["limit"]) == ("policy", "0.5")
    other = ready_dataset(services, principal, name="other", epsilon="0.25", edges=b"source,target\n0,1\n")
    with pytest.raises(TargetNotMet) as refused:
        plan_job(services, principal, asked.model_copy(update={"dataset_id": other.id}))
    assert (refused.value.members["limited_by"], refused.value.members["limit"]) == ("balance", "0.25")


@pytest.mark.parametrize(
    ("assume", "field"),
    [
        ({"edges": {"nothing": 5}}, "assume.edges.nothing"),
        ({"edges": 10**9}, "assume.edges"),
        ({"nodes": 10**9}, "assume.nodes"),
    ],
)
def test_what_is_assumed_must_be_possible(
    world: tuple[Services, Dataset], principal: Principal, assume: dict[str, Any], field: str
) -> None:
    services, dataset = world
    with pytest.raises(InvalidInput) as refused:
        plan_job(services, principal, ask(dataset, method="dcsbm", assume=assume))
    assert refused.value.members["field"] == field


def test_a_request_that_assumes_nothing_is_the_one_of_earlier_versions(
    world: tuple[Services, Dataset],
) -> None:
    request = ask(world[1])
    assert "assume" not in request.content()
    assert ask(world[1], assume={"edges": 7}).content()["assume"]["edges"] == 7


def test_the_same_key_finds_the_same_job_and_refuses_another_payload(
    world: tuple[Services, Dataset], principal: Principal
) -> None:
    services, dataset = world
    first, replayed = submit_job(services, principal, ask(dataset), "same")
    assert not replayed
    before = rows(services, dataset)
    again, replayed = submit_job(services, principal, ask(dataset), "same")
    assert replayed
    assert again.id == first.id
    with pytest.raises(IdempotencyKeyReused):
        submit_job(services, principal, ask(dataset, epsilon="2"), "same")
    assert rows(services, dataset) == before


def test_concurrent_posts_of_one_key_make_one_job_even_where_the_budget_takes_one(
    services: Services, principal: Principal
) -> None:
    dataset = ready_dataset(services, principal, epsilon="1")
    request = ask(dataset)
    with ThreadPoolExecutor(8) as pool:
        answers = [pool.submit(submit_job, services, principal, request, "race") for _ in range(16)]
    results = [answer.result() for answer in answers]
    assert len({job.id for job, _ in results}) == 1
    assert sorted(replayed for _, replayed in results) == [False] + [True] * 15
    assert rows(services, dataset) == (1, 1)
    assert spent(services, results[0][0]) == ("0", "1")


def test_concurrent_posts_of_one_key_make_one_job_where_the_budget_takes_many(
    services: Services, principal: Principal
) -> None:
    """Two contents on two accounts, repeats allowed: nothing but the key stands between them."""
    requests = [
        ask(
            ready_dataset(services, principal, epsilon="100", name=f"crowd-{epsilon}"),
            repeat=True,
            epsilon=epsilon,
        )
        for epsilon in ("1", "2")
    ]

    def post(number: int) -> tuple[str, bool] | None:
        try:
            job, replayed = submit_job(services, principal, requests[number % 2], "crowd")
        except IdempotencyKeyReused:
            return None
        return job.id, replayed

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(post, range(24)))
    found = [answer for answer in answers if answer is not None]
    assert len({job_id for job_id, _ in found}) == 1
    assert sorted(replayed for _, replayed in found) == [False] + [True] * 11
    with services.db.transaction() as session:
        of_key = select(func.count()).where(Job.tenant == principal.tenant, Job.idempotency_key == "crowd")
        assert session.execute(of_key).scalar_one() == 1
    assert violations(services) == []


def test_concurrent_posts_never_reserve_more_than_there_is(services: Services, principal: Principal) -> None:
    dataset = ready_dataset(services, principal, epsilon="3")

    def post(number: int) -> bool:
        try:
            submit_job(services, principal, ask(dataset, repeat=True), f"key-{number}")
        except BudgetExceeded:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        admitted = list(pool.map(post, range(12)))
    assert sum(admitted) == 3
    assert rows(services, dataset) == (3, 3)
    assert violations(services) == []


def test_a_dataset_must_be_ready_and_its_policy_must_allow_the_guarantee(
    services: Services, principal: Principal
) -> None:
    new = NewDataset(name="empty", unit="edge", epsilon="1", graph_schema=SCHEMA)
    empty = register_dataset(services, principal, new)
    with pytest.raises(DatasetNotReady) as caught:
        submit_job(services, principal, ask(empty), "not-ready")
    assert caught.value.members["state"] == "registered"
    strict = ready_dataset(
        services, principal, "strict", protection_domain="s", policy={"kinds": ("approximate",)}
    )
    with pytest.raises(KindNotAllowed):
        submit_job(services, principal, ask(strict), "kind")


def test_a_public_dataset_takes_a_seed(services: Services, principal: Principal) -> None:
    dataset = ready_dataset(services, principal, public=True)
    assert queued_job(services, principal, dataset.id, seed=7).spec["release"]["seed"] == 7


def test_archiving_cancels_waiting_jobs_and_a_repeat_still_finds_its_job(
    services: Services, principal: Principal
) -> None:
    dataset = ready_dataset(services, principal)
    job = queued_job(services, principal, dataset.id, "kept")
    archive_dataset(services, principal, dataset.id)
    again, replayed = submit_job(services, principal, ask(dataset, repeat=True), "kept")
    assert replayed
    assert (again.id, again.state, again.reason) == (job.id, "cancelled", "dataset_archived")
    assert spent(services, job) == ("0", "0")
    with pytest.raises(DatasetNotReady):
        submit_job(services, principal, ask(dataset), "new")


def test_a_key_is_looked_up_by_the_key_even_while_the_table_is_empty(services: Services) -> None:
    """A plan that was made then and goes by the tenant would read all of a tenant's jobs, and be kept."""
    query = repository._BY_KEY.compile(dialect=postgresql.dialect(paramstyle="numeric_dollar"))
    with services.db.transaction() as session:
        connection = session.connection()
        connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
        connection.exec_driver_sql("SET LOCAL enable_bitmapscan = off")
        plan = connection.exec_driver_sql(f"EXPLAIN (GENERIC_PLAN) {query}").scalars().all()
    assert any("jobs_idempotency_key" in line for line in plan), plan
