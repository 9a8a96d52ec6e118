"""Policies, proposals, approvals and quotas from the command line and through the SDK."""

from __future__ import annotations

import json
import secrets
from pathlib import Path

import pytest

from core.identity import service as identity
from core.identity.models import Role
from graphveil import Graphveil, ProblemError
from graphveil.models.datasets import DatasetPolicy
from graphveil.models.proposals import Proposal
from tests.integration.api.conftest import Tenant
from tests.support.shell import Command

ROLES = (Role.CURATOR, Role.REQUESTER)


def token(tenant: Tenant, person: str) -> str:
    with tenant.services.db.transaction() as session:
        return identity.create_key(
            session, tenant=tenant.name, name=secrets.token_hex(4), roles=ROLES, person=person
        )[1]


@pytest.fixture
def ada(address: str, tenant: Tenant) -> Command:
    return Command(address, token(tenant, "ada"))


@pytest.fixture
def bo(address: str, tenant: Tenant) -> Command:
    return Command(address, token(tenant, "bo"))


def test_two_persons_change_a_policy_and_a_budget(
    ada: Command, bo: Command, tenant: Tenant, tmp_path: Path
) -> None:
    file = tmp_path / "policy.json"
    file.write_text(json.dumps({"max_epsilon_per_job": "1"}))
    dataset = ada.json("register", "mail", "--epsilon", "2", "--policy", str(file))
    dataset_id = str(dataset["id"])
    shown = ada("policy", dataset_id).stdout
    assert "max_epsilon_per_job" in shown
    assert "dataset registered" in shown

    file.write_text(json.dumps({"max_epsilon_per_job": "1.5"}))
    looser = ada("set-policy", dataset_id, str(file), "--reason", "more detail").stdout
    assert "waits for a second curator" in looser
    stale = ada("set-policy", dataset_id, str(file), "--reason", "r", "--version", "7", code=3)
    assert "stale-etag" in stale.stderr
    assert "policy" in ada("proposals", "--state", "open").stdout
    asked = ada.json("grant", dataset_id, "--epsilon", "0.5", "--reason", "second year")
    own = ada("approve", str(asked["id"]), "--reason", "r", code=3)
    assert "second-person-needed" in own.stderr
    assert "approved by bo" in bo("approve", str(asked["id"]), "--reason", "agreed").stdout
    assert "epsilon 0.5, delta 0 more" in bo("proposal", str(asked["id"])).stdout
    assert "epsilon 2.5 of 2.5 left" in bo("budget", dataset_id).stdout

    tighter = tmp_path / "tighter.json"
    tighter.write_text(json.dumps({"max_epsilon_per_job": "0.5"}))
    assert "version 2" in bo("set-policy", dataset_id, str(tighter), "--reason", "r").stdout
    assert "replaced since" in bo("policy", dataset_id, "--version", "1").stdout
    (waiting,) = [p for p in json.loads(bo("--json", "proposals").stdout) if p["state"] == "open"]
    assert "withdrawn by ada" in ada("withdraw", waiting["id"]).stdout
    assert "invalid-transition" in bo("reject", waiting["id"], "--reason", "r", code=3).stderr


def test_quotas_and_adjustments(ada: Command, tenant: Tenant) -> None:
    dataset_id = tenant.register(epsilon="4")["id"]
    assert "blue" in ada("quota", dataset_id, "team", "blue", "--epsilon", "1", "--reason", "share").stdout
    assert "team" in ada("quotas", dataset_id).stdout
    raised = ada("grant", dataset_id, "--epsilon", "1", "--reason", "r", "--team", "blue").stdout
    assert "more for team blue" in raised
    ada("grant", dataset_id, "--reason", "r", "--team", "blue", "--project", "p", code=2)
    counted = ada("adjust", dataset_id, "--epsilon", "0.5", "--reason", "by hand", "--yes").stdout
    assert "epsilon 3.5 of 4 left" in counted
    assert "by hand" in ada("ledger", dataset_id).stdout
    assert "invalid-input" in ada("budget", dataset_id, "--as-of", "2001-01-01T00:00:00Z", code=3).stderr


def test_a_job_that_waits_is_decided_from_the_command_line(ada: Command, bo: Command, tenant: Tenant) -> None:
    dataset_id = tenant.ready(policy={"approval_above_epsilon": "0.1"})
    planned = ada("plan", dataset_id, "--epsilon", "0.5", "--method", "edgerand").stdout
    assert "wait for a second curator" in planned
    first = ada.json("submit", dataset_id, "--epsilon", "0.5", "--method", "edgerand")
    assert "awaiting_approval" in ada("job", str(first["id"])).stdout
    assert "approved by bo: agreed" in bo("approve", str(first["id"]), "--reason", "agreed").stdout
    second = ada.json("submit", dataset_id, "--epsilon", "0.25", "--method", "edgerand")
    assert "rejected by bo: less" in bo("reject", str(second["id"]), "--reason", "less").stdout


def test_the_sdk_answers_with_what_stands_or_what_waits(address: str, tenant: Tenant) -> None:
    dataset_id = tenant.register(policy={"max_epsilon_per_job": "1"})["id"]
    with Graphveil(address, token(tenant, "ada")) as ada, Graphveil(address, token(tenant, "bo")) as bo:
        assert isinstance(
            ada.set_policy(dataset_id, {"max_epsilon_per_job": "0.5"}, reason="r"), DatasetPolicy
        )
        proposal = ada.set_policy(dataset_id, {}, reason="r", version=2)
        assert isinstance(proposal, Proposal)
        with pytest.raises(ProblemError) as stale:
            ada.set_policy(dataset_id, {}, reason="r", version=1)
        assert stale.value.slug == "stale-etag"
        assert bo.reject_proposal(proposal.id, reason="no").state == "rejected"
        made = [ada.propose_grant(dataset_id, delta="1e-9", reason=f"r{n}").id for n in range(3)]
        assert [p.id for p in bo.proposals(dataset_id=dataset_id, state="open")] == made[::-1]
        assert bo.approve_proposal(made[0], reason="yes").decided_person == "bo"
        assert bo.budget(dataset_id).capacity.delta == "0.000000001"
        assert ada.open_quota(dataset_id, "project", "p", epsilon="1", reason="r").scope == "project"
        assert [quota.scope_name for quota in bo.quotas(dataset_id)] == ["p"]
        head = ada.budget(dataset_id).head
        assert ada.adjust(dataset_id, epsilon="0.5", reason="r", head=head).charged.epsilon == "0.5"
        with pytest.raises(ProblemError):
            ada.adjust(dataset_id, epsilon="0.5", reason="r", head=head)
