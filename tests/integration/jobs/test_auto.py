"""``method: auto``: resolved before anything is reserved, and on record in all that speaks of the job."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.datasets import repository as datasets
from core.errors import NotAccepted
from core.graphs.schema import EdgeType, GraphSchema, NodeType
from core.identity.service import Principal
from core.methods import registry
from core.outbox.models import Topic
from core.reports.card import card
from core.reports.html.render import render
from core.reports.markdown import markdown
from core.workflows.common.context import Services
from core.workflows.jobs import queries as job_queries
from core.workflows.jobs.ground import node_counts
from core.workflows.jobs.submit import JobRequest, plan_job, submit_job
from core.workflows.releases import queries as release_queries
from tests.support.inline import taken
from tests.support.releases import NODES, job_row, queued_job, ready_dataset, ring_edges


def test_the_choice_is_planned_charged_and_reported(services: Services, principal: Principal) -> None:
    dataset = ready_dataset(services, principal)
    request = JobRequest(dataset_id=dataset.id, epsilon="1")
    assert request.method == "auto"
    dry_run = plan_job(services, principal, request)
    assert dry_run.chosen_because is not None
    assert dry_run.method in registry.generators()

    job, _ = submit_job(services, principal, request, "k1")
    reason = dry_run.chosen_because
    row = job_row(services, job.id)
    assert row.method == dry_run.method
    assert row.spec["release"]["method"] == dry_run.method
    assert row.spec["release"]["chosen_because"] == reason
    assert row.plan_digest == dry_run.plan_digest
    assert job_queries.get_job(services, principal, job.id).chosen_because == reason
    again, replayed = submit_job(services, principal, request, "k1")
    assert (again.id, replayed) == (job.id, True)

    assert taken(services.settings, Topic.RUN, job.id)
    assert job_row(services, job.id).state == "published"
    found = release_queries.edition(services, principal, job.id).report
    assert found.public.provenance.chosen_because == reason
    words = reason.split(":")[0]
    assert words in markdown(found)
    assert words in render(found)
    assert words in card(found.public)


def test_a_named_method_is_no_choice(services: Services, principal: Principal) -> None:
    dataset = ready_dataset(services, principal)
    job = queued_job(services, principal, dataset.id, method="psgraph")
    assert (job.method, job.spec["release"]["chosen_because"]) == ("psgraph", None)
    assert job_queries.get_job(services, principal, job.id).chosen_because is None


def test_a_declared_bound_can_decide(services: Services, principal: Principal) -> None:
    small = GraphSchema(node_types=(NodeType(count=30),), edge_types=(EdgeType(name="edge"),))
    bounded = small.model_copy(update={"edge_types": (EdgeType(name="edge", edge_bound=200),)})
    dataset = ready_dataset(services, principal, edges=ring_edges(30), graph_schema=bounded)
    chosen = plan_job(services, principal, JobRequest(dataset_id=dataset.id, epsilon="3.5"))
    assert chosen.method == "edgerand"
    assert chosen.parameters["form"] == "balanced"
    elsewhere = {"graph_schema": small, "protection_domain": "elsewhere"}
    without = ready_dataset(services, principal, "other", edges=ring_edges(30), **elsewhere)
    assert (
        plan_job(services, principal, JobRequest(dataset_id=without.id, epsilon="3.5")).method != "edgerand"
    )


def test_the_universe_is_known_before_a_plan_and_gone_with_the_dataset(
    services: Services, principal: Principal
) -> None:
    from core.workflows.operations.archive import archive_dataset

    dataset = ready_dataset(services, principal)
    with services.db.transaction() as session:
        (version,) = datasets.versions(session, [dataset.id])
    assert version.node_counts == {"node": NODES}
    listed = GraphSchema()
    assert node_counts(version, listed) == {"node": NODES}
    archive_dataset(services, principal, dataset.id)
    with services.db.transaction() as session:
        (version,) = datasets.versions(session, [dataset.id])
    assert version.node_counts is None


def test_what_no_method_takes_is_refused_without_a_trace(services: Services, principal: Principal) -> None:
    dataset = ready_dataset(services, principal)
    with pytest.raises(NotAccepted, match="no method takes this request"):
        submit_job(services, principal, JobRequest(dataset_id=dataset.id, epsilon="1e-9"), "tiny")
    assert job_queries.list_jobs(services, principal).items == []
    assert not list(Path(services.settings.work_folder).glob("release-*"))
