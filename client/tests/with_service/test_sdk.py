"""Every call of the SDK against a running service."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import pytest

from graphveil import ClientError, Graphveil, ProblemError, problems
from graphveil.evidence.verify import verify
from graphveil.sdk.forms import ReportForm

from .conftest import EDGES, ready

NONE_ALLOWED = {"kinds": ["pure", "approximate", "none"]}
TIMED = {
    "node_types": [{"name": "person", "count": 60}],
    "edge_types": [{"name": "contact", "source": "person", "target": "person", "temporal": True}],
    "time": {"start": 0, "width": 7, "count": 52},
}


def test_who_is_calling(service: Graphveil):
    me = service.me()
    assert set(me.roles) == {"curator", "requester", "auditor", "operator"}


def test_datasets(service: Graphveil, dataset_id: str, edges: Path):
    assert dataset_id in [dataset.id for dataset in service.datasets()]
    assert service.dataset(dataset_id).current_version == 1
    with pytest.raises(problems.NotFound):
        service.dataset("ds_none")
    unknown = service.register_dataset("unknown", unit="edge", epsilon="1")
    service.upload(unknown.id, edges)
    proposed = service.wait_ready(unknown.id, timeout_seconds=240)
    assert (proposed.state, proposed.proposed_schema is None) == ("proposed", False)
    service.read_again(unknown.id, decimal=".")
    proposed = service.wait_ready(unknown.id, timeout_seconds=240)
    assert proposed.version is not None
    assert proposed.version.readings
    assert proposed.proposed_schema is not None
    service.confirm_schema(unknown.id, proposed.proposed_schema)
    assert service.wait_ready(unknown.id, timeout_seconds=240).state == "ready"
    service.archive(unknown.id)
    assert service.dataset(unknown.id).state == "archived"


def test_plans(service: Graphveil, dataset_id: str):
    assert {"dcsbm", "psgraph"} <= {method.name for method in service.methods()}
    plan = service.plan(dataset_id, epsilon="0.5", method="psgraph")
    assert (plan.cost.epsilon, plan.method) == ("0.5", "psgraph")
    menu = service.menu(dataset_id, methods=["dcsbm", "dgg"], epsilons=["0.5", "1"])
    assert ("dcsbm", "0.5") in [(item.method, item.epsilon) for item in menu.items]
    with pytest.raises(problems.UnknownMethod):
        service.plan(dataset_id, epsilon="1", method="none_such")


def test_a_release(service: Graphveil, dataset_id: str, published: str, tmp_path: Path):
    assert published in [job.id for job in service.jobs(state="published", dataset_id=dataset_id)]
    assert service.job(published).label == "first"
    assert service.events(published)
    changes = list(service.follow(published, timeout_seconds=240))
    assert changes[-1].state == "published"
    assert service.report(published)["public"]["guarantee"]["epsilon"] == "1"
    assert service.wait_report(published, timeout_seconds=240)["curator"]["status"] == "done"
    for form in ReportForm:
        assert published in service.report_as(published, form), form
    for artifact in service.artifacts(published):
        path = service.download(published, artifact.name, tmp_path / artifact.name)
        assert hashlib.sha256(path.read_bytes()).hexdigest() == artifact.sha256
    with pytest.raises(ClientError, match="lists no file"):
        service.download(published, "none", tmp_path / "none")


def test_evidence_of_a_release(service: Graphveil, published: str, tmp_path: Path):
    keys = service.public_keys()
    assert keys.evidence is not None
    assert keys.evidence.issuer_id in [key.key_id for key in keys.items]
    pack = service.evidence(published, tmp_path / "pack.zip")
    for artifact in service.artifacts(published):
        if artifact.role != "curator":
            service.download(published, artifact.name, tmp_path / "release" / artifact.name)
    trusted = [key.public_key for key in keys.items]
    found = verify(pack.read_bytes(), trusted=trusted, release=tmp_path / "release")
    assert found.holds, found.refused
    assert not found.open
    smaller = service.evidence(published, tmp_path / "public.zip", edition="public")
    assert "ledger.json" not in verify(smaller.read_bytes(), trusted=trusted).files
    with pytest.raises(problems.NotFound):
        service.evidence("job_none", tmp_path / "none.zip")
    assert not (tmp_path / "none.zip").exists()


def test_what_is_not_paid_for_twice(service: Graphveil, dataset_id: str, published: str):
    with pytest.raises(problems.IdenticalRelease) as caught:
        service.submit(dataset_id, epsilon="1", suite="quick")
    assert caught.value.members["job_id"] == published
    again = service.sample(published, suite="quick")
    assert again.sample_of == published
    assert service.wait(again.id, timeout_seconds=240).state == "published"
    cancelled = service.submit(dataset_id, epsilon="0.5", method="tmf")
    assert service.cancel(cancelled.id).state in ("cancelled", "cancelling", "published")
    with pytest.raises(problems.BudgetExceeded) as refused:
        service.submit(dataset_id, epsilon="1000")
    assert isinstance(refused.value, ProblemError)
    assert refused.value.members["requested"] == "1000"


def test_the_ledger(service: Graphveil, dataset_id: str, published: str):
    assert "charge" in [entry.kind for entry in service.ledger(dataset_id)]
    before = service.budget(dataset_id)
    assert service.verify_ledger(dataset_id).intact
    assert service.ledger_health().promises
    adjusted = service.adjust(dataset_id, epsilon="0.25", reason="told to a journal", head=before.head)
    assert adjusted.charged.nano_epsilon == before.charged.nano_epsilon + 250_000_000
    assert service.unblock(dataset_id, reason="it was looked into").blocked is False
    quota = service.open_quota(dataset_id, "team", "local", epsilon="5", reason="for the year")
    assert quota.scope_name == "local"
    assert [each.scope for each in service.quotas(dataset_id)] == ["team"]


def test_two_persons(service: Graphveil, second: Graphveil, dataset_id: str):
    grants = [service.propose_grant(dataset_id, epsilon=str(1 + k), reason="more data") for k in range(3)]
    assert {grant.id for grant in grants} <= {each.id for each in service.proposals(dataset_id=dataset_id)}
    with pytest.raises(problems.SecondPersonNeeded):
        service.approve_proposal(grants[0].id, reason="mine")
    assert second.approve_proposal(grants[0].id, reason="agreed").state == "approved"
    assert second.reject_proposal(grants[1].id, reason="no").state == "rejected"
    assert service.withdraw_proposal(grants[2].id).state == "withdrawn"
    assert service.proposal(grants[2].id).state == "withdrawn"

    assert service.policy(dataset_id).version == 1
    tighter = service.set_policy(dataset_id, {"approval_above_epsilon": "0.1"}, reason="a second look")
    assert service.policy(dataset_id, version=1).current is False
    waiting = [service.submit(dataset_id, epsilon=e, method="dgg", suite="quick") for e in ("0.2", "0.3")]
    assert [job.state for job in waiting] == ["awaiting_approval"] * 2, tighter
    assert second.reject_job(waiting[0].id, reason="no").state == "rejected"
    assert second.approve_job(waiting[1].id, reason="yes").state == "queued"
    service.cancel(waiting[1].id)


def test_keys(service: Graphveil):
    key = service.keys.create("short", person="third", roles=["requester"], days=1)
    with Graphveil(str(service._calls._http.base_url).removesuffix("/v1/"), key.token) as other:
        assert other.me().person == "third"
        with pytest.raises(problems.Forbidden):
            other.keys.create("more", person="x", roles=["operator"])
    assert service.keys.get(key.id).state == "active"
    service.keys.revoke(key.id)
    assert {each.id: each.state for each in service.keys.list()}[key.id] == "revoked"


def test_webhooks(service: Graphveil):
    with pytest.raises(problems.InvalidInput):
        service.webhooks.add("http://127.0.0.1/hook", events=["job.published"])
    hook = service.webhooks.add("https://hooks.example.org/graphveil", events=["job.published"])
    assert hook.secret
    assert hook.id in [each.id for each in service.webhooks.list()]
    assert service.webhooks.get(hook.id).secret is None
    assert service.webhooks.rotate(hook.id).secret != hook.secret
    sent = service.webhooks.test(hook.id)
    assert sent.id in [each.id for each in service.webhooks.deliveries(hook.id)]
    assert service.webhooks.retry(hook.id, sent.id).state == "pending"
    assert service.webhooks.enable(hook.id).state == "enabled"
    service.webhooks.delete(hook.id)


def test_audits(service: Graphveil):
    audit = service.audit("laplace", epsilon="1", parameters={"query": "edge_count"}, unit="edge", runs=400)
    assert audit.id in [each.id for each in service.audits()]
    ended = service.wait_audit(audit.id, timeout_seconds=240)
    assert (ended.state, service.show_audit(audit.id).id) == ("done", audit.id)


def test_sensitive_links(service: Graphveil, tmp_path: Path):
    edges = tmp_path / "edges.csv"  # another graph: what was uploaded already keeps its account and policy
    edges.write_text("source,target\n" + "".join(f"{a},{(b + 20) % 60}\n" for a, b in EDGES))
    dataset_id = ready(service, "links", edges, policy=NONE_ALLOWED)
    hidden = tmp_path / "hidden.csv"
    hidden.write_text("source,target\n" + "".join(f"{a},{(b + 20) % 60}\n" for a, b in EDGES[:4]))
    service.put_sensitive_links(dataset_id, hidden)
    links = service.wait_sensitive_links(dataset_id, timeout_seconds=240)
    assert links.in_use is not None
    assert links.in_use.count == 4
    assert service.sensitive_links(dataset_id).in_use == links.in_use
    service.delete_sensitive_links(dataset_id)
    assert service.sensitive_links(dataset_id).in_use is None


def test_a_stream(service: Graphveil, tmp_path: Path):
    made = service.register_dataset("weeks", unit="w-event", window=2, epsilon="2", graph_schema=TIMED)
    service.upload(made.id, _nothing(tmp_path))
    assert service.wait_ready(made.id, timeout_seconds=240).state == "ready"
    asked = {"epsilon": "1", "method": "psgraph", "suite": "quick"}
    assert service.streams.plan(made.id, **asked).step_epsilon == "0.5"
    stream = service.streams.create(made.id, **asked)
    assert [each.id for each in service.streams.list(dataset_id=made.id)] == [stream.id]
    week = "source,target\n" + "".join(f"{a},{b}\n" for a, b in EDGES)
    service.streams.push(stream.id, week.encode(), step=0)
    with pytest.raises(problems.SnapshotEarly):
        service.streams.push(stream.id, week.encode(), step=2)
    assert service.streams.wait(stream.id, 0, timeout_seconds=240).state == "published"
    assert service.streams.snapshot(stream.id, 0).artifacts
    assert [each.step for each in service.streams.snapshots(stream.id)] == [0]
    assert service.streams.report(stream.id).counts["published"] == 1
    assert "psgraph" in service.streams.report_markdown(stream.id)
    assert "</html>" in service.streams.report_html(stream.id)
    archive = service.streams.download(stream.id, tmp_path / "weeks.zip")
    assert "index.json" in zipfile.ZipFile(archive).namelist()
    assert service.streams.get(stream.id).next_step == 1
    assert service.streams.close(stream.id).state == "closed"


def _nothing(folder: Path) -> Path:
    path = folder / "none.csv"
    path.write_text("source,target,time\n")
    return path
