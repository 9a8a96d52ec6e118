"""A capacity rises only by a grant that names two persons; the database holds its own service to that."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import make_url, text
from sqlalchemy.exc import DBAPIError

from core.db.session import Database
from core.errors import BudgetExceeded, Conflict, InvalidInput, NotFound
from core.ids import new_id
from core.ledger import service
from core.ledger.models import BudgetAccount
from tests.support.ledger import adjust, call, charge, grant, open_account, open_quota, reserve
from tests.support.postgres import PostgresCluster

ROLES = Path(__file__).resolve().parents[3] / "deploy" / "postgres" / "roles.sql"


@pytest.fixture(scope="module")
def app(postgres_cluster: PostgresCluster) -> Iterator[Database]:
    """A database with the rights of the service, and no others."""
    name = postgres_cluster.create()
    url = make_url(postgres_cluster.address(name))
    with psycopg.connect(url.set(drivername="postgresql").render_as_string(hide_password=False)) as owner:
        owner.execute(ROLES.read_bytes())
    database = Database(url.set(username="graphveil_app").render_as_string(hide_password=False))
    yield database
    database.dispose()
    postgres_cluster.drop(name)


@pytest.fixture
def account(app: Database) -> BudgetAccount:
    return open_account(app, domain=new_id("domain"), nano_epsilon=100)


def test_a_grant_raises_the_capacity_and_names_two_persons(app: Database, account: BudgetAccount) -> None:
    charge(app, reserve(app, account, {"epsilon": 100}))
    with pytest.raises(BudgetExceeded):
        reserve(app, account, {"epsilon": 1})
    entry = grant(app, account, 50, 7)
    assert (entry.kind, entry.amounts) == ("grant", {"epsilon": 50, "delta": 7})
    assert (entry.actor, entry.approver, entry.reason) == ("curator-a", "curator-b", "a second wave")
    told = call(app, service.statement, account.id)
    assert (told.capacity.nano_epsilon, told.capacity.delta_atto, told.remaining.nano_epsilon) == (150, 7, 50)
    reserve(app, account, {"epsilon": 50, "delta": 7})
    with pytest.raises(BudgetExceeded):
        reserve(app, account, {"epsilon": 1})
    assert call(app, service.verify, account.id).violations == ()


def test_a_grant_to_a_stream_reaches_every_window(app: Database) -> None:
    stream = open_account(app, domain=new_id("domain"), unit="w-event", window=2, nano_epsilon=10)
    charge(app, reserve(app, stream, {"step/4": 6, "step/5": 4, "untimed": 0}))
    grant(app, stream, 5)
    reserve(app, stream, {"step/5": 2, "step/6": 4})
    adjust(app, stream, {"untimed": 3})
    told = call(app, service.statement, stream.id)
    assert (told.capacity.nano_epsilon, told.remaining.nano_epsilon) == (15, 0)
    with pytest.raises(BudgetExceeded):
        adjust(app, stream, {"untimed": 1})
    assert call(app, service.verify, stream.id).violations == ()


def test_a_quota_is_granted_for_itself(app: Database, account: BudgetAccount) -> None:
    quota = open_quota(app, account, "team", "a", 10)
    grant(app, quota, 5)
    assert call(app, service.statement, quota.id).capacity.nano_epsilon == 15
    assert call(app, service.statement, account.id).capacity.nano_epsilon == 100
    reserve(app, account, {"epsilon": 15}, team="a")
    assert call(app, service.verify, quota.id).violations == ()


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"approver": "curator-a"}, "approver"),
        ({"approver": ""}, "approver"),
        ({"reason": " "}, "reason"),
        ({"nano_epsilon": 0}, "epsilon"),
        ({"nano_epsilon": -1}, "epsilon"),
        ({"nano_epsilon": True}, "epsilon"),
        ({"nano_epsilon": 1.0}, "epsilon"),
        ({"nano_epsilon": float("nan")}, "epsilon"),
        ({"nano_epsilon": 10**15}, "epsilon"),
        ({"delta_atto": -1}, "delta"),
        ({"delta_atto": 10**18}, "delta"),
    ],
)
def test_what_is_no_grant_is_refused(
    app: Database, account: BudgetAccount, changed: dict[str, Any], field: str
) -> None:
    asked = {
        "nano_epsilon": 1,
        "delta_atto": 0,
        "actor": "curator-a",
        "approver": "curator-b",
        "reason": "why",
    }
    with pytest.raises(InvalidInput) as refused:
        call(app, service.grant, account.id, **{**asked, **changed})
    assert refused.value.members["field"] == field
    assert call(app, service.statement, account.id).capacity.nano_epsilon == 100


def test_a_renyi_capacity_never_changes(app: Database) -> None:
    account = open_account(app, domain=new_id("domain"), filter="renyi", delta_atto=10**12, orders=[1024])
    with pytest.raises(Conflict):
        grant(app, account, 1)
    raised = "UPDATE budget_accounts SET capacity_nano_epsilon = capacity_nano_epsilon + 1 WHERE id = :id"
    refused(app, account, raised, match="a capacity rises")
    with pytest.raises(NotFound):
        call(
            app,
            service.grant,
            "acc_none",
            nano_epsilon=1,
            delta_atto=0,
            actor="curator-a",
            approver="curator-b",
            reason="why",
        )


GRANT = (
    "INSERT INTO ledger_entries (id, account_id, sequence, kind, amounts, digests, standing, reason, actor, "
    "approver, previous_hash, hash) VALUES ('le_' || :id, :id, 2, 'grant', '{\"epsilon\": 1, \"delta\": 0}', "
    "'{}', '{}', '', 'app', %s, '', '')"
)
RAISE = "UPDATE budget_accounts SET capacity_nano_epsilon = capacity_nano_epsilon + 1 WHERE id = :id"


def run(database: Database, account: BudgetAccount, *statements: str) -> None:
    with database.transaction() as session:
        for statement in statements:
            session.execute(text(statement), {"id": account.id})


def refused(database: Database, account: BudgetAccount, *statements: str, match: str) -> None:
    with pytest.raises(DBAPIError, match=match):
        run(database, account, *statements)
    assert call(database, service.verify, account.id).violations == ()


@pytest.mark.parametrize(
    ("statements", "match"),
    [
        ([RAISE], "not the sum of its grants"),
        ([GRANT % "'other'"], None),
        ([RAISE, RAISE, GRANT % "'other'"], "not the sum of its grants"),
        ([RAISE, GRANT % "NULL"], "granted_by_two"),
        ([RAISE, GRANT % "'app'"], "granted_by_two"),
        ([RAISE.replace("+ 1", "- 1")], "a capacity rises"),
        (["UPDATE budget_balances SET capacity = capacity + 1 WHERE account_id = :id"], "permission denied"),
        (["UPDATE budget_accounts SET filter = 'renyi' WHERE id = :id"], "permission denied"),
        (["UPDATE budget_accounts SET parent_id = :id WHERE id = :id"], "permission denied"),
        (["ALTER TABLE budget_accounts DISABLE TRIGGER ALL"], "must be owner"),
        (
            [
                "INSERT INTO budget_balances (account_id, dimension, capacity, binding) "
                "VALUES (:id, 'untimed', 1000, true)"
            ],
            "another capacity",
        ),
        (
            [
                "INSERT INTO budget_balances (account_id, dimension, capacity, binding) "
                "VALUES (:id, 'untimed', 100, false)"
            ],
            "another capacity",
        ),
    ],
)
def test_the_app_cannot_raise_a_capacity_silently(
    app: Database, account: BudgetAccount, statements: list[str], match: str | None
) -> None:
    if match is not None:
        refused(app, account, *statements, match=match)
        return
    # An entry of its own, without the capacity, is not refused: it breaks the chain, for all to see.
    run(app, account, *statements)
    found = {violation.invariant for violation in call(app, service.verify, account.id).violations}
    assert {"chain_intact", "capacity_granted"} <= found


def test_an_account_without_its_grant_cannot_be_opened(app: Database) -> None:
    columns = "(id, tenant, domain, scope, scope_name, unit, filter, capacity_nano_epsilon, "
    columns += "capacity_delta_atto, last_hash)"
    values = "('acc_bare', 'acme', 'bare', 'domain', '', 'edge', 'basic', 5, 0, '')"
    with pytest.raises(DBAPIError, match="not the sum of its grants"), app.transaction() as session:
        session.execute(text(f"INSERT INTO budget_accounts {columns} VALUES {values}"))


def test_an_adjustment_only_counts_against_the_spender(app: Database, account: BudgetAccount) -> None:
    reserve(app, account, {"epsilon": 30})
    entry = adjust(app, account, {"epsilon": 60, "delta": 0})
    assert (entry.kind, entry.amounts, entry.reservation_id) == ("adjust", {"epsilon": 60}, None)
    told = call(app, service.statement, account.id)
    held = (told.charged.nano_epsilon, told.reserved.nano_epsilon, told.remaining.nano_epsilon)
    assert held == (60, 30, 10)
    with pytest.raises(BudgetExceeded, match="an exposure of the account"):
        adjust(app, account, {"epsilon": 11})
    for amounts in ({}, {"epsilon": 0}, {"epsilon": -1}, {"epsilon": True}, {"step/1": 1}, {"delta": 1}):
        with pytest.raises(InvalidInput):
            adjust(app, account, amounts)
    assert call(app, service.verify, account.id).violations == ()


def test_an_adjustment_of_a_curve_names_every_order(app: Database) -> None:
    account = open_account(app, domain=new_id("domain"), filter="renyi", delta_atto=10**12, orders=[2, 1024])
    before = call(app, service.statement, account.id).remaining.nano_epsilon
    with pytest.raises(InvalidInput):
        adjust(app, account, {"rdp/2": 5})
    adjust(app, account, {"rdp/2": 5, f"rdp/{1024}": 7})
    assert call(app, service.statement, account.id).remaining.nano_epsilon == before - 7
    stream = open_account(app, domain=new_id("domain"), unit="w-event", window=2)
    with pytest.raises(InvalidInput, match="untimed"):
        adjust(app, stream, {"step/1": 5})
    for each in (account, stream):
        assert call(app, service.verify, each.id).violations == ()
