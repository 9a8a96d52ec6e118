"""The ledger's tables, and what the database refuses to do with them, whoever asks."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0000"
down_revision = None
branch_labels = None
depends_on = None

# One function for every append-only table.
REFUSE = """
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'restrict_violation';
END
$$
"""

# A capacity rises, never falls, and takes its balances with it. Whoever may update the one may not update the
# other: the function runs with its owner's rights. O(balances), once for each grant.
FOLLOW = """
CREATE FUNCTION raise_balances() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF NEW.filter <> 'basic' AND (NEW.capacity_nano_epsilon, NEW.capacity_delta_atto)
        IS DISTINCT FROM (OLD.capacity_nano_epsilon, OLD.capacity_delta_atto)
        OR NEW.capacity_nano_epsilon < OLD.capacity_nano_epsilon
        OR NEW.capacity_delta_atto < OLD.capacity_delta_atto
    THEN
        RAISE EXCEPTION 'budget account %: a capacity rises, by a grant, or stands', NEW.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    IF NEW.filter = 'basic' THEN
        UPDATE budget_balances SET capacity =
            CASE dimension WHEN 'delta' THEN NEW.capacity_delta_atto ELSE NEW.capacity_nano_epsilon END
        WHERE account_id = NEW.id;
    END IF;
    RETURN NULL;
END
$$
"""

# At COMMIT, when the grant that explains it must have been written.
GRANTED = """
CREATE FUNCTION check_granted() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    standing budget_accounts;
    granted record;
BEGIN
    SELECT * INTO standing FROM budget_accounts WHERE id = NEW.id;
    SELECT count(*) AS entries,
        sum(coalesce((amounts ->> 'epsilon')::numeric, (amounts ->> 'untimed')::numeric)) AS nano,
        sum((amounts ->> 'delta')::numeric) AS atto
    INTO granted FROM ledger_entries WHERE account_id = NEW.id AND kind = 'grant';
    IF standing.filter = 'basic'
        AND (granted.nano, granted.atto)
            IS DISTINCT FROM (standing.capacity_nano_epsilon, standing.capacity_delta_atto)
        OR standing.filter <> 'basic' AND granted.entries <> 1
    THEN
        RAISE EXCEPTION 'budget account %: its capacity is not the sum of its grants', NEW.id
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END
$$
"""

# A balance begins with its account's capacity and guarded by it. (Rényi orders have capacities of their own.)
BEGUN = """
CREATE FUNCTION check_balance() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF EXISTS (
        SELECT FROM budget_accounts AS a WHERE a.id = NEW.account_id AND (
            NEW.binding <> (a.filter = 'basic') OR a.filter = 'basic' AND NEW.capacity <>
                CASE NEW.dimension WHEN 'delta' THEN a.capacity_delta_atto ELSE a.capacity_nano_epsilon END
        )
    ) THEN
        RAISE EXCEPTION 'a balance of budget account % has another capacity', NEW.account_id
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END
$$
"""

# Append-only: once per statement, so that TRUNCATE and statements that match no row are refused too; ALWAYS
# keeps it awake for replicas and for restores.
TRIGGERS = """
CREATE TRIGGER budget_accounts_raise AFTER UPDATE OF capacity_nano_epsilon, capacity_delta_atto
    ON budget_accounts FOR EACH ROW EXECUTE FUNCTION raise_balances();
CREATE CONSTRAINT TRIGGER budget_accounts_granted
    AFTER INSERT OR UPDATE OF capacity_nano_epsilon, capacity_delta_atto ON budget_accounts
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_granted();
CREATE TRIGGER budget_balances_begun AFTER INSERT ON budget_balances
    FOR EACH ROW EXECUTE FUNCTION check_balance();
CREATE TRIGGER ledger_entries_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_entries
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
ALTER TABLE ledger_entries ENABLE ALWAYS TRIGGER ledger_entries_append_only
"""

# What a dashboard may show of the ledger: no hashes, no digests. It runs with its owner's rights, so that its
# readers need none on the tables.
RECENT = """
CREATE VIEW recent_ledger_entries AS
SELECT e.created_at, a.tenant, a.domain, a.scope, a.scope_name, e.account_id, a.unit, e.sequence, e.kind,
    (e.amounts ->> 'epsilon')::numeric / 1e9 AS epsilon, (e.amounts ->> 'delta')::numeric / 1e18 AS delta,
    e.amounts, e.job_id, e.actor, e.approver, e.reason
FROM ledger_entries AS e JOIN budget_accounts AS a ON a.id = e.account_id
WHERE e.created_at > now() - interval '90 days'
"""


def upgrade() -> None:
    """The ledger's tables stand, and guard themselves."""
    _accounts()
    _balances()
    _holds()
    _entries()
    for function in (REFUSE, FOLLOW, GRANTED, BEGUN):
        op.execute(function)
    for trigger in TRIGGERS.split(";\n"):
        op.execute(trigger)
    op.execute(RECENT)


def downgrade() -> None:
    """Refused: below this revision there would be no ledger, and a ledger is never dropped."""
    raise RuntimeError("the ledger cannot be taken back; it outlives its service")


def _time(name: str) -> sa.Column:
    return sa.Column(name, sa.DateTime(timezone=True))


def _created_at() -> sa.Column:
    return sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.func.now(), nullable=False)


def _text(name: str, length: int, *, nullable: bool = False, primary_key: bool = False) -> sa.Column:
    return sa.Column(name, sa.String(length), nullable=nullable, primary_key=primary_key)


def _account_id(*, primary_key: bool = False, index: bool = False) -> sa.Column:
    key = sa.ForeignKey("budget_accounts.id", ondelete="RESTRICT")
    return sa.Column("account_id", sa.String(64), key, nullable=False, primary_key=primary_key, index=index)


def _accounts() -> None:
    op.create_table(
        "budget_accounts",
        _text("id", 64, primary_key=True),
        _text("tenant", 64),
        _text("domain", 128),
        sa.Column("parent_id", sa.String(64), sa.ForeignKey("budget_accounts.id", ondelete="RESTRICT")),
        _text("scope", 16),
        _text("scope_name", 64),
        _text("unit", 16),
        sa.Column("window", sa.Integer()),
        _text("filter", 16),
        sa.Column("orders", sa.JSON()),
        sa.Column("capacity_nano_epsilon", sa.BigInteger(), nullable=False),
        sa.Column("capacity_delta_atto", sa.BigInteger(), nullable=False),
        sa.Column("consecutive_give_backs", sa.Integer(), server_default="0", nullable=False),
        _time("blocked_at"),
        _time("exposed_at"),
        sa.Column("last_sequence", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("last_hash", sa.LargeBinary(32), nullable=False),
        _created_at(),
        sa.UniqueConstraint("tenant", "domain", "scope", "scope_name"),
        sa.CheckConstraint("capacity_nano_epsilon > 0", name="capacity_positive"),
        sa.CheckConstraint("capacity_delta_atto >= 0", name="delta_not_negative"),
        sa.CheckConstraint("(unit = 'w-event') = (\"window\" IS NOT NULL)", name="window_with_w_event"),
        sa.CheckConstraint(
            "CASE WHEN scope = 'domain' THEN parent_id IS NULL AND scope_name = '' "
            "ELSE scope IN ('team', 'project') AND scope_name <> '' AND parent_id IS NOT NULL END",
            name="quota_below_its_domain",
        ),
        sa.Index("ix_budget_accounts_parent", "parent_id", postgresql_where=sa.text("parent_id IS NOT NULL")),
    )


def _balances() -> None:
    amount = sa.Numeric(38, 0)
    op.create_table(
        "budget_balances",
        _account_id(primary_key=True),
        _text("dimension", 32, primary_key=True),
        sa.Column("capacity", amount, nullable=False),
        sa.Column("binding", sa.Boolean(), nullable=False),
        sa.Column("charged", amount, server_default="0", nullable=False),
        sa.Column("reserved", amount, server_default="0", nullable=False),
        sa.Column("step", sa.Integer()),
        sa.Column("window_committed", amount),
        sa.CheckConstraint("charged >= 0 AND reserved >= 0", name="not_negative"),
        sa.CheckConstraint("NOT binding OR charged + reserved <= capacity", name="within_capacity"),
        sa.CheckConstraint(
            "CASE WHEN step IS NULL THEN left(dimension, 5) <> 'step/' AND window_committed IS NULL "
            "ELSE dimension = 'step/' || CAST(step AS text) AND window_committed IS NOT NULL END",
            name="step_numbered",
        ),
        sa.CheckConstraint(
            "step IS NULL OR window_committed >= charged + reserved "
            "AND (NOT binding OR window_committed <= capacity)",
            name="window_within_capacity",
        ),
        sa.Index("ix_budget_balances_step", "account_id", "step"),
        sa.Index(
            "ix_budget_balances_fullest",
            "account_id",
            sa.text("window_committed DESC"),
            "step",
            postgresql_where=sa.text("step IS NOT NULL"),
        ),
    )


def _holds() -> None:
    op.create_table(
        "budget_holds",
        _text("reservation_id", 64, primary_key=True),
        _account_id(primary_key=True, index=True),
        _time("expires_at"),
        sa.Index("ix_budget_holds_expiry", "expires_at", postgresql_where=sa.text("expires_at IS NOT NULL")),
    )


def _entries() -> None:
    op.create_table(
        "ledger_entries",
        _text("id", 64, primary_key=True),
        _account_id(),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        _text("kind", 16),
        sa.Column("reservation_id", sa.String(64), index=True),
        sa.Column("job_id", sa.String(64), index=True),
        sa.Column("amounts", JSONB(), nullable=False),
        sa.Column("digests", JSONB(), nullable=False),
        sa.Column("standing", JSONB(), nullable=False),
        _text("reason", 256),
        _text("actor", 128),
        _text("approver", 128, nullable=True),
        _time("expires_at"),
        sa.Column("previous_hash", sa.LargeBinary(32), nullable=False),
        sa.Column("hash", sa.LargeBinary(32), nullable=False),
        _created_at(),
        sa.UniqueConstraint("account_id", "sequence"),
        sa.CheckConstraint(
            "CASE WHEN kind = 'grant' AND sequence > 1 THEN approver IS NOT NULL AND approver <> actor "
            "ELSE approver IS NULL END",
            name="granted_by_two",
        ),
        sa.Index(
            "uq_ledger_entries_one_reserve",
            "reservation_id",
            "account_id",
            unique=True,
            postgresql_where=sa.text("kind = 'reserve'"),
        ),
        sa.Index(
            "uq_ledger_entries_one_terminal",
            "reservation_id",
            "account_id",
            unique=True,
            postgresql_where=sa.text("kind IN ('charge', 'forfeit', 'release', 'expire')"),
        ),
        sa.Index("ix_ledger_entries_grants", "account_id", postgresql_where=sa.text("kind = 'grant'")),
        sa.Index("ix_ledger_entries_created", "created_at", "kind"),
    )
