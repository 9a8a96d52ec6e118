"""Budget accounts, their balances, and the entries. Balances go by dimension; entries are append-only and
explain them.

A *dimension* is what adds up: ``epsilon`` (nano) and ``delta`` (1e-18) of a basic filter, ``step/<t>`` and
``untimed`` (nano-epsilon) of a w-event account, ``rdp/<alpha>`` (nano) of a Rényi filter.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Numeric,
    String,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base, CreatedAt
from core.ledger.kinds import Scope
from core.ledger.terms import Terms

# Amounts at Rényi orders reach 1e30 (MAX_AMOUNT), more than a bigint holds.
Amount = Numeric(38, 0, asdecimal=True)


# A step's number stands in its dimension's name and in the column that is indexed: they must agree.
STEP_NUMBERED = (
    "CASE WHEN step IS NULL THEN left(dimension, 5) <> 'step/' AND window_committed IS NULL "
    "ELSE dimension = 'step/' || CAST(step AS text) AND window_committed IS NOT NULL END"
)
# What one row can say of its window: it carries the step's own spend at least, and stays within capacity.
WINDOW_WITHIN = (
    "step IS NULL OR window_committed >= charged + reserved AND (NOT binding OR window_committed <= capacity)"
)
QUOTA_BELOW = (
    "CASE WHEN scope = 'domain' THEN parent_id IS NULL AND scope_name = '' "
    "ELSE scope IN ('team', 'project') AND scope_name <> '' AND parent_id IS NOT NULL END"
)
# The entry that opens an account (its first) has no second person; every later grant does.
GRANTED_BY_TWO = (
    "CASE WHEN kind = 'grant' AND sequence > 1 THEN approver IS NOT NULL AND approver <> actor "
    "ELSE approver IS NULL END"
)


class BudgetAccount(CreatedAt, Base):
    """One protection domain's budget, or the quota of a team or project below it. Outlives every dataset that
    drew on it.

    The database lets a capacity rise only together with a grant entry, and the balances' with it.
    """

    __tablename__ = "budget_accounts"
    __table_args__ = (
        UniqueConstraint("tenant", "domain", "scope", "scope_name"),
        CheckConstraint("capacity_nano_epsilon > 0", name="capacity_positive"),
        CheckConstraint("capacity_delta_atto >= 0", name="delta_not_negative"),
        CheckConstraint("(unit = 'w-event') = (\"window\" IS NOT NULL)", name="window_with_w_event"),
        CheckConstraint(QUOTA_BELOW, name="quota_below_its_domain"),
        Index("ix_budget_accounts_parent", "parent_id", postgresql_where=text("parent_id IS NOT NULL")),
    )

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    tenant: Mapped[str] = mapped_column(String(64))
    domain: Mapped[str] = mapped_column(String(128))
    parent_id: Mapped[str | None] = mapped_column(
        ForeignKey("budget_accounts.id", ondelete="RESTRICT"), default=None
    )
    scope: Mapped[str] = mapped_column(String(16), default=Scope.DOMAIN.value)
    scope_name: Mapped[str] = mapped_column(String(64), default="")
    unit: Mapped[str] = mapped_column(String(16))
    window: Mapped[int | None] = mapped_column(Integer)
    filter: Mapped[str] = mapped_column(String(16))
    orders: Mapped[list[float] | None] = mapped_column(JSON)
    capacity_nano_epsilon: Mapped[int] = mapped_column(BigInteger)
    capacity_delta_atto: Mapped[int] = mapped_column(BigInteger)
    consecutive_give_backs: Mapped[int] = mapped_column(Integer, default=0, server_default="0")
    blocked_at: Mapped[datetime | None] = mapped_column(default=None)
    exposed_at: Mapped[datetime | None] = mapped_column(default=None)
    last_sequence: Mapped[int] = mapped_column(BigInteger, default=0, server_default="0")
    last_hash: Mapped[bytes] = mapped_column(LargeBinary(32))

    @property
    def terms(self) -> Terms:
        """What the account was opened with."""
        return Terms(
            account_id=self.id,
            unit=self.unit,
            window=self.window,
            filter=self.filter,
            nano_epsilon=self.capacity_nano_epsilon,
            delta_atto=self.capacity_delta_atto,
            orders=tuple(self.orders or ()),
        )

    @property
    def whose(self) -> tuple[str, str]:
        """A quota's scope and name."""
        return self.scope, self.scope_name


class BudgetBalance(Base):
    """What is charged and reserved in one dimension. ``binding`` rows may never pass their capacity.

    A step's row also carries its number, and ``window_committed``: charged + reserved of all steps in the
    window that ends at it. Both are indexed, so that a stream finds a step's neighbours and its fullest
    window without walking its past.
    """

    __tablename__ = "budget_balances"
    __table_args__ = (
        CheckConstraint("charged >= 0 AND reserved >= 0", name="not_negative"),
        CheckConstraint("NOT binding OR charged + reserved <= capacity", name="within_capacity"),
        CheckConstraint(STEP_NUMBERED, name="step_numbered"),
        CheckConstraint(WINDOW_WITHIN, name="window_within_capacity"),
        Index("ix_budget_balances_step", "account_id", "step"),
        Index(
            "ix_budget_balances_fullest",
            "account_id",
            text("window_committed DESC"),
            "step",
            postgresql_where=text("step IS NOT NULL"),
        ),
    )

    account_id: Mapped[str] = mapped_column(
        ForeignKey("budget_accounts.id", ondelete="RESTRICT"), primary_key=True
    )
    dimension: Mapped[str] = mapped_column(String(32), primary_key=True)
    capacity: Mapped[int] = mapped_column(Amount)
    binding: Mapped[bool] = mapped_column(default=True)
    charged: Mapped[int] = mapped_column(Amount, default=0, server_default="0")
    reserved: Mapped[int] = mapped_column(Amount, default=0, server_default="0")
    step: Mapped[int | None] = mapped_column(Integer, default=None)
    window_committed: Mapped[int | None] = mapped_column(Amount, default=None)


class BudgetHold(Base):
    """An open reservation in one of its accounts: present from its reserve entry to its terminal one, so that
    a sweep for overdue ones costs what is open, not what ever was. ``expires_at`` is empty once the job has
    begun.
    """

    __tablename__ = "budget_holds"
    __table_args__ = (
        Index("ix_budget_holds_expiry", "expires_at", postgresql_where=text("expires_at IS NOT NULL")),
    )

    reservation_id: Mapped[str] = mapped_column(String(64), primary_key=True)
    account_id: Mapped[str] = mapped_column(
        ForeignKey("budget_accounts.id", ondelete="RESTRICT"), primary_key=True, index=True
    )
    expires_at: Mapped[datetime | None] = mapped_column(default=None)


class LedgerEntry(CreatedAt, Base):
    """One immutable line of an account. The database refuses UPDATE, DELETE and TRUNCATE.

    ``standing`` names the account's give-back count, block and exposure where the entry changed them, so that
    they too are the fold of the entries. ``approver`` is the second person of a grant.
    """

    __tablename__ = "ledger_entries"
    __table_args__ = (
        UniqueConstraint("account_id", "sequence"),
        CheckConstraint(GRANTED_BY_TWO, name="granted_by_two"),
        # A reservation begins once and ends once in each
        # account, whatever code races: the database's own word.
        Index(
            "uq_ledger_entries_one_reserve",
            "reservation_id",
            "account_id",
            unique=True,
            postgresql_where=text("kind = 'reserve'"),
        ),
        Index(
            "uq_ledger_entries_one_terminal",
            "reservation_id",
            "account_id",
            unique=True,
            postgresql_where=text("kind IN ('charge', 'forfeit', 'release', 'expire')"),
        ),
        Index("ix_ledger_entries_grants", "account_id", postgresql_where=text("kind = 'grant'")),
        Index("ix_ledger_entries_created", "created_at", "kind"),
    )

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    account_id: Mapped[str] = mapped_column(ForeignKey("budget_accounts.id", ondelete="RESTRICT"))
    sequence: Mapped[int] = mapped_column(BigInteger)
    kind: Mapped[str] = mapped_column(String(16))
    reservation_id: Mapped[str | None] = mapped_column(String(64), index=True)
    job_id: Mapped[str | None] = mapped_column(String(64), index=True)
    amounts: Mapped[dict[str, int]] = mapped_column(JSONB)
    digests: Mapped[dict[str, str]] = mapped_column(JSONB)
    standing: Mapped[dict[str, Any]] = mapped_column(JSONB)
    reason: Mapped[str] = mapped_column(String(256))
    actor: Mapped[str] = mapped_column(String(128))
    approver: Mapped[str | None] = mapped_column(String(128), default=None)
    expires_at: Mapped[datetime | None] = mapped_column(default=None)
    previous_hash: Mapped[bytes] = mapped_column(LargeBinary(32))
    hash: Mapped[bytes] = mapped_column(LargeBinary(32))
