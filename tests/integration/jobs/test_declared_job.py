"""A job from declarations: no byte of the dataset reaches its child, nothing is spent, and it is so for every
dataset."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from core.datasets.models import DatasetVersion
from core.errors import InvalidInput, KindNotAllowed, NotAccepted, PolicyRefused, UnknownFormat
from core.graphs.schema import GraphSchema
from core.jobs import repository
from core.jobs.models import JobReason, JobState
from core.ledger import service as ledger
from core.ledger.models import LedgerEntry
from core.outbox.models import Topic
from core.privacy.accounting.guarantee import MARK
from core.storage.store import ObjectStore
from core.workflows.common.policies import Policy
from core.workflows.jobs.queries import new_job
from core.workflows.jobs.samples import SampleRequest, submit_sample
from core.workflows.jobs.submit import JobRequest, plan_job, submit_job
from core.workflows.ledger.invariants.run import check, promises
from core.workflows.releases import publish
from tests.support.inline import taken
from tests.support.releases import (
    NODES,
    SCHEMA,
    job_row,
    parted_dataset,
    queued_job,
    ready_dataset,
    ring_edges,
    spent,
    violations,
)
from worker import sandbox
from worker.process import open_process
from worker.work import take

SAID = {"relations": {"*": {"mean_degree": 6, "degrees": "power_law"}}}


def ask(services: Any, principal: Any, dataset_id: str, key: str = "d1", **asked: Any) -> Any:
    request = JobRequest(**{"dataset_id": dataset_id, "method": "declared", "parameters": SAID, **asked})
    return submit_job(services, principal, request, key)[0]


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, bytes]]:
    """What lies in the folder of each child that makes such a graph, when it begins."""
    found: list[dict[str, bytes]] = []
    real = sandbox.KINDS["declared"]

    def looked(folder: Path, channel: Any) -> None:
        files = (path for path in folder.rglob("*") if path.is_file())
        found.append({path.relative_to(folder).as_posix(): path.read_bytes() for path in files})
        real(folder, channel)

    monkeypatch.setitem(sandbox.KINDS, "declared", looked)
    return found


def broken(services: Any) -> list[str]:
    return [each.name for each in promises(services) if check(services, each).total]


def test_it_is_published_and_nothing_is_spent_or_read(services, principal, settings):
    dataset = ready_dataset(services, principal)
    job = ask(services, principal, dataset.id, formats=["csv"])
    assert (job.state, spent(services, job)) == (JobState.QUEUED, ("0", "0"))
    assert broken(services) == []
    assert taken(settings, Topic.RUN, job.id)
    found = job_row(services, job.id)
    assert (found.state, found.first_read_at) == (JobState.PUBLISHED, None)
    assert violations(services) == broken(services) == []
    with services.db.transaction() as session:
        query = select(LedgerEntry).where(LedgerEntry.job_id == job.id).order_by(LedgerEntry.sequence)
        lines = list(session.scalars(query))
        digests = {file.name: file.sha256 for file in repository.artifacts(session, job.id)}
        assert repository.reads(session, job.id, attempt=found.attempt) == []
        assert repository.evaluation(session, job.id) is None
        assert ledger.verify(session, job.account_id).intact
    assert [(line.kind, line.amounts, line.reason) for line in lines] == [
        ("reserve", {}, ""),
        ("charge", {}, MARK),
    ]
    assert lines[1].digests == digests
    assert {"declarations.json", "edges.parquet", "graph.csv", "public.json"} < set(digests)
    assert not [name for name in digests if name.startswith("private")]


def test_its_child_is_given_nothing_of_the_data(services, principal, settings, given):
    """Two datasets of one declared schema: what the children read is equal byte for byte, names apart."""
    sparse, dense = (
        ready_dataset(services, principal, name, edges=edges, protection_domain=name)
        for name, edges in (("ring", ring_edges()), ("star", b"source,target\n" + b"".join(
            b"0,%d\n" % node for node in range(1, NODES)
        )))
    )  # fmt: skip
    jobs = [ask(services, principal, each.id, each.name, seed=5, label=each.name) for each in (sparse, dense)]
    for job in jobs:
        assert taken(settings, Topic.RUN, job.id)
    first, second = given
    assert set(first) == set(second) == {"spec.json", "schema.json"}
    assert GraphSchema.model_validate_json(first["schema.json"]) == SCHEMA
    specs = [json.loads(each["spec.json"]) for each in given]
    for spec, job in zip(specs, jobs, strict=True):
        named = ("job_id", "dataset_id", "dataset_version")
        assert [spec["release"].pop(name) for name in named] == [job.id, job.dataset_id, job.version_id]
    assert specs[0] == specs[1]
    assert first["schema.json"] == second["schema.json"]
    with services.db.transaction() as session:
        files = [{file.name: file.sha256 for file in repository.artifacts(session, job.id)} for job in jobs]
    for name in ("edges.parquet", "nodes.parquet", "declarations.json"):
        assert files[0][name] == files[1][name]


def test_the_store_is_not_asked_for_the_data(services, principal, settings, monkeypatch):
    dataset = ready_dataset(services, principal)
    job = ask(services, principal, dataset.id)
    got: list[str] = []
    real = ObjectStore.get

    def get(self: Any, key: str, *rest: Any, **named: Any) -> Any:
        got.append(key)
        return real(self, key, *rest, **named)

    monkeypatch.setattr(ObjectStore, "get", get)
    assert taken(settings, Topic.RUN, job.id)
    assert got == []
    paid = queued_job(services, principal, dataset.id, "paid")
    assert taken(settings, Topic.RUN, paid.id)
    assert got  # such a look would be told


def test_a_child_that_says_it_reads_is_stopped(services, principal, settings, monkeypatch):
    dataset = ready_dataset(services, principal)
    job = ask(services, principal, dataset.id)

    def reads(folder: Path, channel: Any) -> None:
        from core.privacy.accounting.events import Pure
        from core.privacy.accounting.meter import TranscriptEntry

        channel.record(TranscriptEntry(0, "edge", None, Pure(1, "laplace"), "count"))

    monkeypatch.setitem(sandbox.KINDS, "declared", reads)
    assert taken(settings, Topic.RUN, job.id)
    found = job_row(services, job.id)
    assert (found.state, found.reason) == (JobState.FAILED, JobReason.PRIVACY_VIOLATION)
    assert spent(services, job) == ("0", "0")
    assert violations(services) == broken(services) == []


def test_it_fails_at_no_cost(services, principal, settings):
    dataset = ready_dataset(services, principal)
    job = ask(services, principal, dataset.id)

    def fails(kind: str) -> None:
        raise ValueError(kind)

    assert taken(settings, Topic.RUN, job.id, fails)
    assert job_row(services, job.id).state == JobState.FAILED
    assert spent(services, job) == ("0", "0")
    assert violations(services) == []


@pytest.mark.parametrize(
    "terms",
    [
        {"filter": "renyi", "delta": "1e-6"},
        {"epsilon": "0.000000001"},
        {"policy": Policy(approval_above_epsilon="0.001", kinds=("none",), project_required=True)},
        {"policy": Policy(max_epsilon_per_job="0.5", min_epsilon_per_job="0.4", team_required=True)},
    ],
)
def test_no_account_and_no_policy_of_amounts_stands_in_its_way(services, principal, settings, terms):
    dataset = ready_dataset(services, principal, **terms)
    job = ask(services, principal, dataset.id)
    assert job.state == JobState.QUEUED  # nobody is waited for
    assert taken(settings, Topic.RUN, job.id)
    assert job_row(services, job.id).state == JobState.PUBLISHED
    assert violations(services) == broken(services) == []


def test_a_policy_that_lists_methods_lists_it_or_refuses_it(services, principal):
    allowed = ready_dataset(services, principal, policy=Policy(methods=("dcsbm", "declared")))
    assert ask(services, principal, allowed.id).state == JobState.QUEUED
    other = ready_dataset(services, principal, "other", protection_domain="o", edges=b"source,target\n0,1\n",
                          policy=Policy(methods=("dcsbm",)))  # fmt: skip
    with pytest.raises(PolicyRefused) as refused:
        ask(services, principal, other.id, "d2")
    assert refused.value.members["rule"] == "methods"


def test_an_exposed_account_takes_it(services, principal, settings):
    dataset = ready_dataset(services, principal)
    with services.db.transaction() as session:
        ledger.expose(session, dataset.account_id, job_id="job_x", digests={}, actor="tests", reason="opened")
    job = ask(services, principal, dataset.id)
    assert new_job(services, principal, job).exposed
    assert taken(settings, Topic.RUN, job.id)
    assert job_row(services, job.id).state == JobState.PUBLISHED


def test_a_dataset_in_parts_is_not_opened_either(services, principal, settings, given):
    dataset = parted_dataset(services, principal)
    job = ask(services, principal, dataset.id)
    assert taken(settings, Topic.RUN, job.id)
    assert job_row(services, job.id).state == JobState.PUBLISHED
    assert set(given[0]) == {"spec.json", "schema.json"}


def test_what_was_read_off_the_data_stays_marked(services, principal, settings):
    dataset = ready_dataset(services, principal)
    with services.db.transaction() as session:
        session.execute(update(DatasetVersion).values(derived=["node_list"]))
    job = ask(services, principal, dataset.id)
    assert taken(settings, Topic.RUN, job.id)
    with services.db.transaction() as session:
        marks = job_row(services, job.id).spec["release"]["derived"]
        report = repository.artifact(session, job.id, "public.json")
    assert marks == ["node_list"]
    assert report is not None
    part = json.loads(b"".join(services.store.get(report.object_key)))
    assert "universe_from_edges" in [each["code"] for each in part["caveats"]]
    assert "read off the data" in part["guarantee"]["statement"]


@pytest.mark.parametrize(
    ("asked", "error", "field"),
    [
        ({"epsilon": "1"}, NotAccepted, "epsilon"),
        ({"delta": "1e-6"}, NotAccepted, "delta"),
        ({"target": {"edges_relative_95": 0.1}}, NotAccepted, "target"),
        ({"size": {"nodes": 40}}, NotAccepted, "size"),
        ({"project": "spring"}, NotAccepted, "project"),
        ({"comparison": True}, NotAccepted, "comparison"),
        ({"edge_types": ["none"]}, NotAccepted, "edge_types.0"),
        ({"formats": ["nonesuch"]}, UnknownFormat, None),
        ({"parameters": {"nodes": {"node": 25 * 10**6}}}, InvalidInput, "parameters.nodes"),
        ({"parameters": {"mean": 1}}, InvalidInput, "parameters.mean"),
        ({"method": {"edge": "declared"}, "epsilon": "1", "parameters": {}}, NotAccepted, "method"),
    ],
)
def test_what_has_no_meaning_is_refused_with_its_field(services, principal, asked, error, field):
    dataset = ready_dataset(services, principal)
    for act in (
        lambda request: submit_job(services, principal, request, "k"),
        lambda request: plan_job(services, principal, request),
    ):
        request = JobRequest(**{"dataset_id": dataset.id, "method": "declared", **asked})
        with pytest.raises(error) as refused:
            act(request)
        assert field is None or refused.value.members["field"] == field


def test_a_plan_says_that_it_costs_nothing(services, principal):
    dataset = ready_dataset(services, principal)
    request = JobRequest(dataset_id=dataset.id, method="declared", epsilon="0")
    plan = plan_job(services, principal, request)
    assert (plan.cost.kind, plan.cost.epsilon, plan.allotments, plan.warnings) == ("unread", "0", 0, (MARK,))
    assert plan.budget_after.remaining.epsilon == "4"
    assert not plan.needs_approval
    job = submit_job(services, principal, request, "k")[0]
    assert job.plan_digest == plan.plan_digest


def test_it_has_no_model_to_sample_and_no_original_to_compare(services, principal, settings):
    dataset = ready_dataset(services, principal)
    job = ask(services, principal, dataset.id)
    assert taken(settings, Topic.RUN, job.id)
    with pytest.raises(NotAccepted, match="no fitted model"):
        submit_sample(services, principal, job.id, SampleRequest(), "s")
    assert not publish.is_compared(job_row(services, job.id))


def test_a_policy_names_no_such_kind(services, principal):
    with pytest.raises(ValueError, match="kinds"):
        Policy(kinds=("unread",))
    dataset = ready_dataset(services, principal, policy=Policy(kinds=("approximate",)))
    with pytest.raises(KindNotAllowed):
        submit_job(services, principal, JobRequest(dataset_id=dataset.id, epsilon="1"), "k")
    assert ask(services, principal, dataset.id).state == JobState.QUEUED


def test_a_real_child_makes_it(services, principal):
    dataset = ready_dataset(services, principal)
    job = ask(services, principal, dataset.id)
    process = open_process(services.settings)
    assert take(process, Topic.RUN, job.id, lambda: False)
    assert job_row(services, job.id).state == JobState.PUBLISHED
    assert list(process.folder.glob("release-*")) == []
    assert violations(services) == broken(services) == []
