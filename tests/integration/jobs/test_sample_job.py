"""A further sample: from a model that was paid for, without the graph, at no charge."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow.parquet as pq
import pytest
from sqlalchemy import select

from core.datasets.models import Dataset
from core.db.session import database_now
from core.errors import (
    AccountBlocked,
    DatasetNotReady,
    IdempotencyKeyReused,
    InvalidInput,
    JobFailed,
    JobNotFinished,
    KindNotAllowed,
    NotAccepted,
    NotFound,
    PrivacyViolation,
    UnknownFormat,
)
from core.graphs.graph import EdgeTable, Graph
from core.graphs.stored.whole import read_graph, write_graph
from core.identity.service import Principal
from core.jobs import repository
from core.jobs.models import Job, JobReason, JobState, Stop
from core.ledger import service as ledger
from core.ledger.models import BudgetAccount, LedgerEntry
from core.methods import registry
from core.methods.base import GraphKinds, Parameters, PublicFacts
from core.outbox.models import Topic
from core.privacy.accounting.events import Unprotected
from core.privacy.accounting.plan import WHOLE_GRAPH, Allotment, GuaranteeKind, PrivacyPlan
from core.privacy.units import Unit
from core.settings import Settings
from core.workflows.common.context import Services
from core.workflows.jobs.cancel import cancel_job
from core.workflows.jobs.queries import get_job
from core.workflows.jobs.samples import SampleRequest, submit_sample
from core.workflows.operations.archive import archive_dataset
from core.workflows.releases import publish
from core.workflows.releases.queries import get_report, listed, open_artifact
from tests.support.inline import taken
from tests.support.methods import MadeUp
from tests.support.releases import NODES, job_row, queued_job, ready_dataset, spent, stored_keys, violations


@pytest.fixture
def dataset(services: Services, principal: Principal) -> Dataset:
    return ready_dataset(services, principal)


@pytest.fixture
def source(services: Services, principal: Principal, settings: Settings, dataset: Dataset) -> Job:
    """A published job of epsilon 1."""
    job = queued_job(services, principal, dataset.id)
    assert taken(settings, Topic.RUN, job.id)
    return job_row(services, job.id)


def ask(services: Services, principal: Principal, job_id: str, key: str = "s1", **asked: Any) -> Job:
    return submit_sample(services, principal, job_id, SampleRequest(**asked), key)[0]


def entries(services: Services, job: Job) -> list[LedgerEntry]:
    """The ledger entries of the job, in order."""
    with services.db.transaction() as session:
        query = select(LedgerEntry).where(LedgerEntry.job_id == job.id).order_by(LedgerEntry.sequence)
        return list(session.scalars(query))


def edges(services: Services, principal: Principal, job: Job, folder: Path) -> set[tuple[str, str]]:
    _, chunks = open_artifact(services, principal, job.id, "edges.parquet")
    path = folder / f"{job.id}.parquet"
    path.write_bytes(b"".join(chunks))
    return {(row["source"], row["target"]) for row in pq.read_table(path).to_pylist()}


def test_a_sample_is_published_and_charged_nothing(services, principal, settings, source, tmp_path):
    before = spent(services, source)
    job = ask(services, principal, source.id, formats=["csv"], label="again")
    assert spent(services, job) == before == ("1", "0")
    assert taken(settings, Topic.RUN, job.id)
    assert taken(settings, Topic.EVALUATE, job.id)
    found = job_row(services, job.id)
    assert (found.state, found.sample_of, found.first_read_at) == (JobState.PUBLISHED, source.id, None)
    assert spent(services, job) == before
    assert violations(services) == []
    with services.db.transaction() as session:
        assert ledger.verify(session, job.account_id).intact
        assert repository.reads(session, job.id, attempt=found.attempt) == []
        digests = {file.name: file.sha256 for file in repository.artifacts(session, job.id)}
    digests.pop("curator.json")
    lines = entries(services, job)
    assert [(line.kind, line.amounts) for line in lines] == [("reserve", {}), ("charge", {}), ("derive", {})]
    assert lines[1].digests == lines[2].digests == digests
    assert source.id in lines[2].reason
    assert "graph.csv" in digests
    assert not [name for name in digests if name.startswith("private/model")]


def test_another_number_of_nodes_costs_a_job_nothing_more_and_a_sample_nothing(
    services, principal, settings, dataset
):
    method = {"method": "degree_triangle", "epsilon": "1"}
    job = queued_job(services, principal, dataset.id, size={"nodes": 60}, **method)
    again = None
    for nodes in (60, 25):
        drawn = job if again is None else again
        assert taken(settings, Topic.RUN, drawn.id)
        assert taken(settings, Topic.EVALUATE, drawn.id)
        shown, report = (look(services, principal, drawn.id) for look in (get_job, get_report))
        assert (shown.size.nodes, shown.size.of) == (nodes, NODES)
        assert report["public"]["statistics"]["nodes"] == {"node": nodes}
        assert report["curator"]["comparison"]["scaled"] == pytest.approx(nodes / NODES)
        assert spent(services, drawn) == ("1", "0")
        # A sample of it has the size of its job unless it asks for another.
        assert ask(services, principal, job.id, f"same-{nodes}").spec["release"]["size"]["nodes"] == 60
        again = ask(services, principal, job.id, size={"nodes": 25})
    assert violations(services) == []


def test_a_size_is_refused_where_the_method_has_none(services, principal, settings, source):
    flips = queued_job(services, principal, source.dataset_id, "k8", method="edgerand")
    assert taken(settings, Topic.RUN, flips.id)
    asked = {"method": "edgerand", "size": {"nodes": 25}, "repeat": True}
    for refused in (
        lambda: ask(services, principal, flips.id, size={"nodes": 25}),
        lambda: queued_job(services, principal, source.dataset_id, "k9", **asked),
    ):
        with pytest.raises(NotAccepted, match=r"^edgerand draws over") as said:
            refused()
        assert said.value.members["field"] == "size"
    asked = {"method": "degree_triangle", "size": {"nodes": 10**11}}
    with pytest.raises(InvalidInput) as said:
        queued_job(services, principal, source.dataset_id, "k10", **asked)
    assert said.value.members["field"] == "size.nodes"


def test_its_report_carries_the_guarantee_of_the_model(services, principal, settings, source):
    job = ask(services, principal, source.id)
    assert taken(settings, Topic.RUN, job.id)
    assert taken(settings, Topic.EVALUATE, job.id)
    ours, theirs = (get_report(services, principal, each.id) for each in (job, source))
    assert ours["public"]["guarantee"] == theirs["public"]["guarantee"]
    assert ours["public"]["transcript"] == theirs["public"]["transcript"]
    assert ours["public"]["parameters"] == theirs["public"]["parameters"]
    provenance = ours["public"]["provenance"]
    assert (provenance["job_id"], provenance["sample_of"]) == (job.id, source.id)
    assert provenance["plan_digest"] == theirs["public"]["provenance"]["plan_digest"]
    assert ours["public"]["charge"]["charged"] == {}
    assert ours["public"]["charge"]["charged_epsilon"] == "0"
    assert "further_sample" in [notice["code"] for notice in ours["public"]["caveats"]]
    assert ours["curator"]["status"] == "done"
    view = get_job(services, principal, job.id)
    assert (view.sample_of, view.method, view.epsilon) == (source.id, source.method, "1")


def test_samples_of_one_model_differ_and_have_names_of_their_own(
    services, principal, settings, source, tmp_path
):
    drawn = [edges(services, principal, source, tmp_path)]
    for number in range(3):
        job = ask(services, principal, source.id, f"key-{number}")
        assert taken(settings, Topic.RUN, job.id)
        drawn.append(edges(services, principal, job, tmp_path))
    assert len({frozenset(each) for each in drawn}) == 4


def test_a_sample_of_a_sample_is_one_of_the_same_model(services, principal, settings, source):
    first = ask(services, principal, source.id)
    assert taken(settings, Topic.RUN, first.id)
    second = ask(services, principal, first.id, "s2")
    assert second.sample_of == source.id
    assert taken(settings, Topic.RUN, second.id)
    assert job_row(services, second.id).state == JobState.PUBLISHED


def test_the_child_gets_the_model_and_not_the_graph(services, principal, settings, source, monkeypatch):
    """Nor the archive that the graph is in: it is never fetched."""
    monkeypatch.setattr("worker.kinds.release.fetch_graph", lambda *_: pytest.fail("the graph was fetched"))
    seen: list[list[str]] = []
    job = ask(services, principal, source.id)

    def look(kind: str) -> None:
        folder = next(settings.work_folder.glob("worker-*/release-*"))
        seen.append(sorted(path.relative_to(folder).as_posix() for path in folder.iterdir()))

    assert taken(settings, Topic.RUN, job.id, look)
    assert seen == [["out", "source", "spec.json"]]


def test_one_key_makes_one_sample(services, principal, source):
    job, replayed = submit_sample(services, principal, source.id, SampleRequest(), "one")
    assert not replayed
    again, replayed = submit_sample(services, principal, source.id, SampleRequest(), "one")
    assert (again.id, replayed) == (job.id, True)
    with pytest.raises(IdempotencyKeyReused):
        submit_sample(services, principal, source.id, SampleRequest(label="other"), "one")


def test_what_is_refused(services, principal, settings, dataset, source):
    with pytest.raises(NotFound):
        ask(services, principal, "job_nothing")
    with pytest.raises(NotFound):
        ask(services, Principal("other", "key_x", "x", principal.roles), source.id)
    with pytest.raises(InvalidInput) as seeded:
        ask(services, principal, source.id, seed=1)
    assert seeded.value.members["field"] == "seed"
    with pytest.raises(UnknownFormat):
        ask(services, principal, source.id, formats=["nothing"])
    waiting = queued_job(services, principal, dataset.id, "k2")
    with pytest.raises(JobNotFinished):
        ask(services, principal, waiting.id)
    cancel_job(services, principal, waiting.id)
    with pytest.raises(JobFailed):
        ask(services, principal, waiting.id)
    with services.db.transaction() as session:
        row = session.get_one(Dataset, dataset.id)
        row.policy = row.policy | {"kinds": ["approximate"]}
    with pytest.raises(KindNotAllowed):
        ask(services, principal, source.id)
    assert len(stored_keys(services, "staging")) == 0


def test_a_blocked_account_takes_no_sample_and_samples_do_not_unblock(services, principal, settings, source):
    with services.db.transaction() as session:
        session.get_one(BudgetAccount, source.account_id).consecutive_give_backs = 2
    job = ask(services, principal, source.id)
    assert taken(settings, Topic.RUN, job.id)
    with services.db.transaction() as session:
        account = session.get_one(BudgetAccount, source.account_id)
        assert account.consecutive_give_backs == 2, "a sample is no success of a read"
        account.blocked_at = database_now(session)
    with pytest.raises(AccountBlocked):
        ask(services, principal, source.id, "s2")


def test_an_archived_dataset_has_no_models(services, principal, settings, dataset, source):
    waiting = ask(services, principal, source.id)
    claimed = ask(services, principal, source.id, "s2")
    work = publish.begin_job(services, claimed.id, "w")
    assert work is not None
    archive_dataset(services, principal, dataset.id)
    assert job_row(services, waiting.id).state == JobState.CANCELLED
    with pytest.raises(DatasetNotReady):
        ask(services, principal, source.id, "s3")
    publish.cancel_held(services, work)
    assert spent(services, source) == ("1", "0")


def failing(error: Exception):
    def sabotage(kind: str) -> None:
        raise error

    return sabotage


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (RuntimeError(), JobReason.GENERATOR_FAILED),
        (MemoryError(), JobReason.MEMORY_EXCEEDED),
        (PrivacyViolation("x"), JobReason.PRIVACY_VIOLATION),
    ],
)
def test_a_failure_costs_nothing(services, principal, settings, source, error, reason):
    job = ask(services, principal, source.id)
    assert taken(settings, Topic.RUN, job.id, failing(error))
    found = job_row(services, job.id)
    assert (found.state, found.reason) == (JobState.FAILED, reason)
    assert [line.kind for line in entries(services, job)] == ["reserve", "release"]
    assert spent(services, job) == ("1", "0")
    assert violations(services) == []


def test_a_damaged_model_is_never_sampled(services, principal, settings, source):
    with services.db.transaction() as session:
        model = next(
            file for file in repository.artifacts(session, source.id) if file.name.startswith("private/model")
        )
        model.sha256 = "0" * 64
    job = ask(services, principal, source.id)
    assert taken(settings, Topic.RUN, job.id)
    assert job_row(services, job.id).state == JobState.QUEUED  # handed back: the storage may mend
    assert [line.kind for line in entries(services, job)] == ["reserve"]


def test_a_lost_worker_is_replaced_and_the_sample_is_charged_nothing(services, principal, settings, source):
    job = ask(services, principal, source.id)
    work = publish.begin_job(services, job.id, "w")
    assert work is not None
    publish.hand_back(services, work, Stop.WORKER_LOST)
    found = job_row(services, job.id)
    assert (found.state, found.reservation_id) == (JobState.QUEUED, job.reservation_id)
    with services.db.transaction() as session:
        assert session.get_one(BudgetAccount, job.account_id).consecutive_give_backs == 0
    assert taken(settings, Topic.RUN, job.id)
    assert job_row(services, job.id).state == JobState.PUBLISHED
    assert spent(services, job) == ("1", "0")


class Raw(MadeUp):
    """Reads the raw graph, and gives out a random half of its edges."""

    name, title, summary, assurance = "raw", "Raw", "A test's generator.", "experimental"
    Params = Parameters
    accepts = GraphKinds(static=True)
    units = frozenset({Unit.EDGE})
    kinds = frozenset({GuaranteeKind.NONE})

    def __init__(self, graph: Graph | None = None) -> None:
        self._graph = graph

    def plan(self, params: Parameters, public: PublicFacts) -> PrivacyPlan:
        allotment = Allotment(WHOLE_GRAPH, None, Unprotected("the raw graph is read"), "unprotected access")
        return PrivacyPlan(self.name, public.unit, public.window, public.schema.steps, (allotment,))

    def fit(self, graph, plan, params, progress) -> Raw:
        return Raw(graph.unprotected("the raw graph is read"))

    def sample(self, rng, progress) -> Graph:
        assert self._graph is not None
        table = self._graph.edges["edge"]
        kept = rng.random(table.count) < 0.5
        half = {"edge": EdgeTable(table.source[kept], table.target[kept], None)}
        return Graph.build(self._graph.schema, self._graph.nodes, half)

    def save(self, folder: Path) -> None:
        assert self._graph is not None
        write_graph(self._graph, folder)

    def load(self, folder: Path) -> Raw:
        return Raw(read_graph(folder))


def test_an_unprotected_model_gives_unprotected_samples(services, principal, settings, monkeypatch):
    known = MappingProxyType({"raw": Raw()})
    monkeypatch.setattr(registry, "_discovered", lambda: known)
    dataset = ready_dataset(services, principal, "open", policy={"kinds": ["none"]})
    source = queued_job(services, principal, dataset.id, method="raw")
    assert taken(settings, Topic.RUN, source.id)
    job = ask(services, principal, source.id)
    assert taken(settings, Topic.RUN, job.id)
    assert job_row(services, job.id).state == JobState.PUBLISHED
    report = get_report(services, principal, job.id)["public"]
    assert (report["guarantee"]["kind"], report["charge"]["charged_epsilon"]) == ("none", None)
    assert [line.kind for line in entries(services, job)] == ["reserve", "charge", "derive", "expose"]
    assert violations(services) == []
    files = listed(services, principal, job.id).items
    assert {file.role for file in files} <= {"artifact", "report", "curator"}
