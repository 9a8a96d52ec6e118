"""Each promise holds in a service in which all has happened, and finds what breaks it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from sqlalchemy import text

from core.workflows.ledger.invariants.base import Found
from core.workflows.ledger.invariants.guards import TRIGGERS
from core.workflows.ledger.invariants.run import check, promises, run_checks
from tests.integration.invariants.conftest import World

SLEEP = "ALTER TABLE ledger_entries DISABLE TRIGGER ALL"


def test_everything_holds(world: World) -> None:
    outcomes = run_checks(world.services)
    assert [outcome for outcome in outcomes if not outcome.kept] == []
    assert len(outcomes) == len(promises(world.services)) == len({outcome.name for outcome in outcomes})


def test_every_promise_is_one_plain_sentence(world: World) -> None:
    for promise in promises(world.services):
        assert promise.promise.endswith("."), promise.name
        assert 20 < len(promise.promise) < 250, promise.name


@dataclass(frozen=True)
class Break:
    """What somebody with the database's keys does, and where the promise finds it."""

    promise: str
    statements: tuple[str, ...]
    subject: str
    detail: str


def job(name: str) -> str:
    return f"(SELECT id FROM jobs WHERE idempotency_key = '{name}')"


def held(name: str) -> str:
    return f"(SELECT reservation_id FROM jobs WHERE idempotency_key = '{name}')"


def set_jobs(column: str, path: str, value: str, name: str) -> str:
    """Changes one value inside a job's JSON."""
    return (
        f"UPDATE jobs SET {column} = jsonb_set({column}, '{{{{{path}}}}}', '{value}') WHERE id = {job(name)}"
    )


def entry(
    kind: str, *, job_id: str, reservation: str = "'res_x'", amounts: str = "{{}}", ahead: int = 1
) -> str:
    """Adds an entry to the account without asking the ledger: a copy of its first, changed."""
    return (
        "INSERT INTO ledger_entries SELECT (jsonb_populate_record(e, jsonb_build_object("
        f"'id', 'le_{ahead}', 'sequence', a.last_sequence + {ahead}, 'kind', '{kind}', "
        "'digests', '{{}}'::jsonb, "
        f"'reservation_id', {reservation}, 'job_id', {job_id}, 'amounts', '{amounts}'::jsonb))).* "
        "FROM ledger_entries AS e JOIN budget_accounts AS a ON a.id = e.account_id "
        "WHERE a.id = '{{account}}' AND e.sequence = 1"
    ).replace("{{account}}", "{account}")


BREAKS = [
    Break(
        "releases_are_charged",
        (f"UPDATE jobs SET state = 'published' WHERE id = {job('queued')}",),
        "{queued}",
        "the job is published and has 0 charges",
    ),
    Break(
        "releases_are_charged",
        (
            f"UPDATE artifacts SET sha256 = repeat('0', 64) WHERE job_id = {job('published')} "
            "AND name = 'edges.parquet'",
        ),
        "{published}",
        "the charge does not name exactly the files",
    ),
    Break(
        "releases_are_charged",
        (f"DELETE FROM artifacts WHERE job_id = {job('published')} AND name = 'nodes.parquet'",),
        "{published}",
        "the charge does not name exactly the files",
    ),
    Break(
        "releases_are_charged",
        (
            "INSERT INTO artifacts "
            "(job_id, name, role, media_type, size_bytes, sha256, object_key, encrypted) "
            f"SELECT {job('failed')}, 'edges.parquet', 'artifact', 'x', 1, repeat('0', 64), 'k', false",
        ),
        "{failed}",
        "the job is failed and has files",
    ),
    Break(
        "releases_are_charged",
        (entry("charge", job_id=job("published")),),
        "{published}",
        "the job is published and has 2 charges",
    ),
    Break(
        "releases_are_charged",
        (entry("charge", job_id="'job_none'"),),
        "job_none",
        "a charge names a job that there is not",
    ),
    Break(
        "samples_are_free",
        (
            SLEEP,
            f"UPDATE ledger_entries SET amounts = '{{{{\"epsilon\": 1}}}}' "
            f"WHERE job_id = {job('sample')} AND kind = 'charge'",
        ),
        "{sample}",
        "entry ",
    ),
    Break(
        "samples_are_free",
        (f"UPDATE jobs SET sample_of = {job('failed')} WHERE id = {job('sample')}",),
        "{sample}",
        "{failed} is no published release of its dataset",
    ),
    Break(
        "samples_are_free",
        (SLEEP, f"DELETE FROM ledger_entries WHERE job_id = {job('sample')} AND kind = 'derive'"),
        "{sample}",
        "no entry derives exactly its files",
    ),
    Break(
        "declarations_read_nothing",
        (
            SLEEP,
            f"UPDATE ledger_entries SET amounts = '{{{{\"epsilon\": 1}}}}' "
            f"WHERE job_id = {job('declared')} AND kind = 'charge'",
        ),
        "{declared}",
        "entry ",
    ),
    Break(
        "declarations_read_nothing",
        (f"UPDATE jobs SET first_read_at = now() WHERE id = {job('declared')}",),
        "{declared}",
        "it has opened the graph, or recorded a read",
    ),
    Break(
        "declarations_read_nothing",
        (f"UPDATE jobs SET method = 'declared' WHERE id = {job('published')}",),
        "{published}",
        "",
    ),
    Break(
        "holds_have_jobs",
        (f"DELETE FROM budget_holds WHERE reservation_id = {held('queued')}",),
        "{queued}",
        "no open reservation is held for it",
    ),
    Break(
        "holds_have_jobs",
        ("INSERT INTO budget_holds (reservation_id, account_id) VALUES ('res_stray', '{account}')",),
        "res_stray",
        "it is held in {account} for no unfinished job",
    ),
    Break(
        "endings_agree",
        (f"UPDATE jobs SET state = 'cancelled', reason = 'cancelled_by_caller' WHERE id = {job('queued')}",),
        "{queued}",
        "{res_queued} should be release, and is open",
    ),
    Break(
        "endings_agree",
        (f"UPDATE jobs SET first_read_at = NULL WHERE id = {job('failed')}",),
        "{failed}",
        "{res_failed} should be release, and is forfeit",
    ),
    Break(
        "endings_agree",
        (f"UPDATE jobs SET reservation_id = 'res_other' WHERE id = {job('queued')}",),
        "{queued}",
        "res_other should be open, and is open, never begun for it",
    ),
    Break(
        "endings_agree",
        (entry("reserve", job_id=job("queued")),),
        "res_x",
        "{queued} went on without it, and it is open",
    ),
    Break(
        "endings_agree",
        (entry("reserve", job_id="'job_none'"),),
        "res_x",
        "it was set aside for no job",
    ),
    Break(
        "costs_are_recorded",
        (set_jobs("spec", "amounts,epsilon", "1", "published"),),
        "{res_published}",
        "it is not the cost of {published}",
    ),
    Break(
        "costs_are_recorded",
        (entry("adjust", job_id="NULL", reservation="NULL", amounts='{{"epsilon": 0.5}}'),),
        "le_1",
        "the amount of epsilon is no positive integer",
    ),
    Break(
        "costs_are_planned",
        (set_jobs("spec", "amounts,epsilon", "1", "queued"),),
        "{queued}",
        "its plan costs something else than its amounts",
    ),
    Break(
        "costs_are_planned",
        (set_jobs("plan", "delta_atto", "7", "running"),),
        "{running}",
        "its plan is not the one that was admitted",
    ),
    Break(
        "costs_are_planned",
        (f"UPDATE jobs SET plan = '{{{{}}}}' WHERE id = {job('curved')}",),
        "{curved}",
        "its plan is none",
    ),
    Break(
        "units_agree",
        (set_jobs("spec", "release,unit", '"event"', "queued"),),
        "{queued}",
        "its unit is not that of {account}",
    ),
    Break(
        "units_agree",
        ('UPDATE streams SET "window" = 2',),
        "{stream}",
        "its unit is not that of {stream_account}",
    ),
    Break(
        "keys_make_one",
        (
            "ALTER TABLE jobs DROP CONSTRAINT uq_jobs_idempotency_key_tenant",
            "UPDATE jobs SET idempotency_key = 'queued' WHERE idempotency_key = 'running'",
        ),
        "{first}",
        "2 jobs share its idempotency key",
    ),
    Break(
        "keys_make_one",
        (f"UPDATE jobs SET reservation_id = {held('queued')} WHERE id = {job('running')}",),
        "{first}",
        "2 jobs share its reservation",
    ),
    Break(
        "exposure_lasts",
        ("UPDATE budget_accounts SET exposed_at = now() WHERE id = '{account}'",),
        "{account}",
        "exposed by an entry: false, marked as exposed: true",
    ),
    Break(
        "exposure_lasts",
        (
            "UPDATE budget_accounts SET exposed_at = now() WHERE id = '{account}'",
            entry("expose", job_id="'job_x'", reservation="NULL"),
            entry("reserve", job_id=job("queued"), amounts='{{"epsilon": 5}}', ahead=2),
        ),
        "{account}",
        "reserve {next} claims a guarantee after the exposure",
    ),
    Break(
        "exposure_lasts",
        (set_jobs("spec", "kind", '"none"', "published"),),
        "{published}",
        "it is unprotected, and no entry exposed {account}",
    ),
    Break(
        "exposure_lasts",
        (set_jobs("spec", "kind", '"none"', "failed"),),
        "{failed}",
        "it opened the graph unprotected, and no entry exposed {account}",
    ),
    Break(
        "streams_keep_their_windows",
        ("UPDATE snapshots SET nano_epsilon = 2000000000 WHERE step = 1",),
        "{stream}",
        "the window to step 2 takes 4000000000 of 3000000000",
    ),
    Break(
        "accounts_stay",
        ("UPDATE datasets SET tenant = 'other' WHERE id = '{dataset}'",),
        "{dataset}",
        "its account {account} is not its tenant's",
    ),
    Break(
        "accounts_stay",
        (f"UPDATE jobs SET account_id = '{{stream_account}}' WHERE id = {job('queued')}",),
        "{queued}",
        "its account or tenant is not that of {dataset}",
    ),
    Break(
        "accounts_stay",
        ("UPDATE content_fingerprints SET tenant = 'other' WHERE account_id = '{account}'",),
        "{account}",
        "a content of another tenant names it",
    ),
    Break(
        "guards_stand",
        ("ALTER TABLE metered_reads DISABLE TRIGGER metered_reads_append_only",),
        "metered_reads_append_only",
        "the trigger is off or gone",
    ),
    Break(
        "guards_stand",
        (
            "ALTER TABLE ledger_entries ENABLE TRIGGER ledger_entries_append_only",
        ),  # a replica would not heed it
        "ledger_entries_append_only",
        "the trigger is off or gone",
    ),
    Break(
        "guards_stand",
        ("DROP TRIGGER budget_accounts_granted ON budget_accounts",),
        "budget_accounts_granted",
        "the trigger is off or gone",
    ),
    Break(
        "guards_stand",
        (
            "CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql "
            "AS 'BEGIN RETURN NULL; END'",
        ),
        "refuse_change",
        "the function refuses nothing",
    ),
    Break(
        "guards_stand",
        ("ALTER TABLE budget_balances DROP CONSTRAINT ck_budget_balances_within_capacity",),
        "within_capacity",
        "the check constraint is gone or was never validated",
    ),
    Break(
        "guards_stand",
        ("DROP INDEX uq_ledger_entries_one_terminal",),
        "uq_ledger_entries_one_terminal",
        "the unique index is gone or not valid",
    ),
    Break(
        "balances_fold",
        (
            "UPDATE budget_balances SET charged = charged - 1 WHERE account_id = '{account}' "
            "AND dimension = 'epsilon'",
        ),
        "{account}",
        "epsilon: entries give",
    ),
    Break(
        "chain_intact",
        (SLEEP, "UPDATE ledger_entries SET actor = 'x' WHERE account_id = '{account}' AND sequence = 2"),
        "{account}",
        "entry 2 was changed",
    ),
]


def plain(statement: str, names: dict[str, str]) -> str:
    """The statement with its ids; its colons are no parameters."""
    return statement.format(**names).replace(":", "\\:")


def after(world: World, broken: Break, names: dict[str, str]) -> Found:
    """What the promise finds once the statements have run; they are undone."""
    promise = next(p for p in promises(world.services) if p.name == broken.promise)
    with world.services.db.transaction() as session:
        for statement in broken.statements:
            done = session.execute(text(plain(statement, names)))
            assert statement.startswith(("ALTER", "CREATE", "DROP")) or done.rowcount > 0  # type: ignore[attr-defined]
        found = promise.check(session, 20)
        session.rollback()
    return found


@pytest.fixture(scope="module")
def names(world: World) -> dict[str, str]:
    """Ids of this world, for the statements and for what is expected."""
    with world.services.db.transaction() as session:
        held = {row[0]: row[1] for row in session.execute(text("SELECT id, reservation_id FROM jobs"))}
        last, stream_account = session.execute(
            text(
                "SELECT (SELECT last_sequence FROM budget_accounts WHERE id = :account), "
                "(SELECT account_id FROM streams)"
            ),
            {"account": world.account_id},
        ).one()
    reservations = {f"res_{name}": held[job_id] for name, job_id in world.jobs.items()}
    return {
        **world.jobs,
        **reservations,
        "account": world.account_id,
        "dataset": world.dataset_id,
        "stream": world.stream_id,
        "stream_account": stream_account,
        "first": min(world.jobs["queued"], world.jobs["running"]),
        "next": str(last + 2),
    }


@pytest.mark.parametrize("broken", BREAKS, ids=lambda each: f"{each.promise}: {each.detail}")
def test_what_breaks_a_promise_is_found(world: World, names: dict[str, str], broken: Break) -> None:
    found = after(world, broken, names)
    assert found.total >= 1
    told = [f for f in found.findings if f.subject == broken.subject.format(**names)]
    assert any(f.detail.startswith(broken.detail.format(**names)) for f in told), found.findings
    assert {f.tenant for f in told} <= {"acme", "curves", "other", ""}


def test_every_promise_of_jobs_and_datasets_is_broken_on_purpose(world: World) -> None:
    own = {p.name for p in promises(world.services) if not type(p).__name__.startswith("OfTheLedger")}
    assert own - {"restored_whole", "heads_exported"} <= {each.promise for each in BREAKS}


def test_every_trigger_of_the_ledger_is_guarded(world: World) -> None:
    guarded = {(table, name) for table, name, *_ in TRIGGERS}
    with world.services.db.transaction() as session:
        rows = session.execute(
            text(
                "SELECT CAST(tgrelid::regclass AS text), tgname FROM pg_trigger WHERE NOT tgisinternal "
                "AND (tgname LIKE '%append_only' OR tgrelid = ANY (CAST(:tables AS regclass[])))"
            ),
            {"tables": ["budget_accounts", "budget_balances", "budget_holds", "ledger_entries"]},
        )
        assert {(row[0], row[1]) for row in rows} == guarded


def test_a_finding_is_counted_though_not_told(world: World, names: dict[str, str]) -> None:
    promise = next(p for p in promises(world.services) if p.name == "accounts_stay")
    with world.services.db.transaction() as session:
        session.execute(text("UPDATE datasets SET tenant = 'other'"))
        found = promise.check(session, 1)
        session.rollback()
    assert len(found.findings) == 1
    assert found.total >= 3


def test_a_check_writes_nothing(world: World) -> None:
    class Writes:
        name, promise = "writes", "Nothing is written."

        def check(self, session, limit):
            session.execute(text("DELETE FROM budget_holds"))
            return Found()

    with pytest.raises(Exception, match="read-only transaction"):
        check(world.services, Writes())
