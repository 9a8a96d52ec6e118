"""One entry and all that changes with it, written by one statement.

The statements are built once for each of their few shapes: they are sent while the account's lock is held,
and building one would cost as much as running it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from typing import Any, cast

from sqlalchemy import (
    ARRAY,
    Boolean,
    Integer,
    String,
    Table,
    TableValuedAlias,
    Update,
    bindparam,
    delete,
    func,
    literal,
    select,
    update,
)
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session
from sqlalchemy.orm.attributes import set_committed_value
from sqlalchemy.sql.dml import UpdateBase

from core.ledger.kinds import TERMINAL, EntryKind
from core.ledger.models import Amount, BudgetAccount, BudgetBalance, BudgetHold, LedgerEntry

ENTRIES = cast(Table, LedgerEntry.__table__)
BALANCES = cast(Table, BudgetBalance.__table__)
HOLDS = cast(Table, BudgetHold.__table__)
ACCOUNTS = cast(Table, BudgetAccount.__table__)


@dataclass(frozen=True)
class Movement:
    """What an entry does to the balances. It moves ``amounts`` times +1, 0 or -1 in each column.

    ``windows``, by last step, are the new sums of the windows whose sum changes. A reservation also begins
    its hold, and its ending ends it.
    """

    amounts: Mapping[str, int]
    reserved: int = 0
    charged: int = 0
    windows: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Posting:
    """One entry, the balances it moves, and the account's columns it changes."""

    entry: Mapping[str, Any]
    movement: Movement | None = None
    account: Mapping[str, Any] = field(default_factory=dict)


def post(session: Session, account: BudgetAccount, posting: Posting) -> None:
    """Write the entry, balances, hold and the account's head. Needs the account's lock. One round trip."""
    entry, movement = posting.entry, posting.movement
    changes = {"last_sequence": entry["sequence"], "last_hash": entry["hash"], **posting.account}
    parameters: dict[str, Any] = {f"entry_{name}": value for name, value in entry.items()}
    parameters |= {f"changed_{name}": value for name, value in changes.items()}
    begins, ends = entry["kind"] == EntryKind.RESERVE, entry["kind"] in TERMINAL
    steps, others = False, False
    if movement is not None:
        # A reservation may be the first to touch a step; every other row exists. A row is touched once.
        moved = {f"step/{step}": 0 for step in movement.windows} | dict(movement.amounts)
        # Only a reservation may be a step's first spend: its ending finds the row.
        fresh = {d: a for d, a in moved.items() if begins and d.startswith("step/")}
        known = {d: a for d, a in moved.items() if d not in fresh}
        steps, others = bool(fresh), bool(known)
        if fresh:
            capacity = {"step_capacity": account.capacity_nano_epsilon}
            parameters |= _arrays("fresh", fresh, movement.windows) | capacity
        if known:
            signs = {"reserved_sign": movement.reserved, "charged_sign": movement.charged}
            parameters |= _arrays("known", known, movement.windows) | signs
    statement = _statement(begins, ends, steps, others, tuple(changes))
    session.execute(statement, parameters)
    # The statement went past the session: its copy follows, without counting as a change to be flushed.
    for name, value in changes.items():
        set_committed_value(account, name, value)


@lru_cache(maxsize=64)
def _statement(begins: bool, ends: bool, steps: bool, others: bool, changed: tuple[str, ...]) -> Update:
    values = {name: bindparam(f"changed_{name}", type_=ACCOUNTS.c[name].type) for name in changed}
    statement = update(ACCOUNTS).where(ACCOUNTS.c.id == _entry("account_id")).values(values)
    columns = {column.name: _entry(column.name) for column in ENTRIES.columns}
    parts: list[UpdateBase] = [insert(ENTRIES).values(columns).returning(ENTRIES.c.id)]
    if begins or ends:
        parts.append(_begin_hold() if begins else _end_hold())
    if steps:
        parts.append(_reserve_steps())
    if others:
        parts.append(_move_known())
    # Parts that write run to their end whether or not the statement reads them (PostgreSQL, WITH).
    for number, part in enumerate(parts):
        statement = statement.add_cte(part.cte(f"part_{number}"))
    return statement


def _entry(name: str) -> Any:
    return bindparam(f"entry_{name}", type_=ENTRIES.c[name].type)


def _begin_hold() -> UpdateBase:
    columns = {name: _entry(name) for name in ("reservation_id", "account_id", "expires_at")}
    return insert(HOLDS).values(columns).returning(HOLDS.c.reservation_id)


def _end_hold() -> UpdateBase:
    ended = (HOLDS.c[name] == _entry(name) for name in ("reservation_id", "account_id"))
    return delete(HOLDS).where(*ended).returning(HOLDS.c.reservation_id)


def _move_known() -> UpdateBase:
    moved = _rows("known")
    reserved = bindparam("reserved_sign", type_=Integer()) * moved.c.amount
    charged = bindparam("charged_sign", type_=Integer()) * moved.c.amount
    return (
        update(BALANCES)
        .where(BALANCES.c.account_id == _entry("account_id"), BALANCES.c.dimension == moved.c.dimension)
        .values(
            reserved=BALANCES.c.reserved + reserved,
            charged=BALANCES.c.charged + charged,
            # A row without a step, or outside the windows that change, keeps what it has.
            window_committed=func.coalesce(moved.c.window_committed, BALANCES.c.window_committed),
        )
        .returning(BALANCES.c.dimension)
    )


def _reserve_steps() -> UpdateBase:
    moved = _rows("fresh")
    columns = ["account_id", "dimension", "capacity", "binding", "reserved", "charged"]
    columns += ["step", "window_committed"]
    source = select(
        sql_cast(_entry("account_id"), String),
        moved.c.dimension,
        sql_cast(bindparam("step_capacity", type_=Amount), Amount),
        sql_cast(literal(True), Boolean),
        moved.c.amount,
        sql_cast(literal(0), Amount),
        sql_cast(func.substr(moved.c.dimension, len("step/") + 1), Integer),
        moved.c.window_committed,
    )
    statement = insert(BALANCES).from_select(columns, source)
    # The step may have a row: nobody else makes one meanwhile, since the account is locked.
    return statement.on_conflict_do_update(
        index_elements=["account_id", "dimension"],
        set_={
            "reserved": BALANCES.c.reserved + statement.excluded.reserved,
            "window_committed": statement.excluded.window_committed,
        },
    ).returning(BALANCES.c.dimension)


def _arrays(prefix: str, amounts: Mapping[str, int], windows: Mapping[int, int]) -> dict[str, Any]:
    sums = {f"step/{step}": Decimal(committed) for step, committed in windows.items()}
    return {
        f"{prefix}_dimensions": list(amounts),
        f"{prefix}_amounts": [Decimal(amount) for amount in amounts.values()],
        f"{prefix}_windows": [sums.get(dimension) for dimension in amounts],
    }


def _rows(prefix: str) -> TableValuedAlias:
    """Select the rows as a table of three arrays, however many they are: one statement text, three
    parameters.
    """
    names = sql_cast(bindparam(f"{prefix}_dimensions", type_=ARRAY(String)), ARRAY(String))
    numbers = sql_cast(bindparam(f"{prefix}_amounts", type_=ARRAY(Amount)), ARRAY(Amount))
    sums = sql_cast(bindparam(f"{prefix}_windows", type_=ARRAY(Amount)), ARRAY(Amount))
    columns = ("dimension", "amount", "window_committed")
    return func.unnest(names, numbers, sums).table_valued(*columns, name=prefix).render_derived()
