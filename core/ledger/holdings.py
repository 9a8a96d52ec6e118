"""Reading balances, with little of a stream's past. Only those of its steps that matter are read, so that no
read grows with its past.

A window without a step that is asked for stays as it is, and it stood within capacity. So a filter needs the
rows within one window of the requested steps; and, where an amount counts in every window (``untimed``), the
fullest window of all, which an index keeps at hand. Every function here reads one consistent snapshot.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any

from sqlalchemy import ARRAY, Integer, Select, and_, bindparam, func, select, union_all
from sqlalchemy import cast as sql_cast
from sqlalchemy.orm import Session

from core.errors import NotFound
from core.ledger.filters import Balance, reach
from core.ledger.models import BudgetAccount
from core.ledger.posting import ACCOUNTS, BALANCES

STEPS_SHOWN = 1_000
"""How many steps a statement tells at most."""

Span = tuple[int, int]

_ROW = (BALANCES.c.dimension, BALANCES.c.capacity, BALANCES.c.charged, BALANCES.c.reserved)
_MINE = BALANCES.c.account_id == bindparam("account_id")
_ORDERED = select(*_ROW).where(_MINE, BALANCES.c.step.is_not(None))


def balances(
    session: Session, account_id: str, window: int | None, requested: Mapping[str, int]
) -> dict[str, Balance]:
    """Read the rows that decide whether ``requested`` fits. The windows that it changes are read, too.

    Those without a step, those within one window of the requested steps, and the fullest window when
    ``requested`` counts in every window. O(requested steps x window), whatever the account's past.
    """
    # An untimed amount counts in every window, so that it is the fullest that decides.
    parts = ["near"] * bool(window) + ["fullest"] * ("untimed" in requested)
    rows = session.execute(_select(*parts), _parameters(account_id, _reach(window, requested)))
    return _balances(rows)


def snapshot(
    session: Session,
    account_id: str,
    *,
    window: int | None = None,
    requested: Mapping[str, int] | None = None,
    steps: Span | None = None,
) -> tuple[BudgetAccount, dict[str, Balance]]:
    """Read the account and what a statement tells of it, unlocked. NotFound when there is none.

    The fullest window and the latest ``STEPS_SHOWN + 1`` steps, or as many of the first from ``steps``
    (first, last) on; with ``requested``, what :func:`balances` reads too.
    """
    parts = ["fullest", "latest" if steps is None else "within"] + ["near"] * bool(window and requested)
    found = _select(*parts).subquery("found")
    statement = (
        select(BudgetAccount, found)
        # An outer join: only an account that does not exist gives no row.
        .outerjoin_from(BudgetAccount, found, and_(True))
        .where(BudgetAccount.id == bindparam("account_id"))
        # What the session loaded earlier may be older than the balances of this statement.
        .execution_options(populate_existing=True)
    )
    first, last = steps or (0, 0)
    parameters = _parameters(account_id, _reach(window, requested or {}))
    parameters |= {"first": first, "last": last, "told": STEPS_SHOWN + 1}
    rows = session.execute(statement, parameters).all()
    if not rows:
        raise NotFound("no such budget account", id=account_id)
    return rows[0][0], _balances(row[1:] for row in rows if row[1] is not None)


def snapshots(
    session: Session, account_ids: Collection[str]
) -> dict[str, tuple[BudgetAccount, dict[str, Balance]]]:
    """Read accounts without windows in one statement. Each is read as :func:`snapshot` does."""
    statement = (
        select(BudgetAccount, *_ROW)
        .join_from(BudgetAccount, BALANCES, BALANCES.c.account_id == BudgetAccount.id)
        .where(BudgetAccount.id.in_(account_ids), BudgetAccount.window.is_(None), BALANCES.c.step.is_(None))
        .execution_options(populate_existing=True)
    )
    found: dict[str, tuple[BudgetAccount, list[Any]]] = {}
    for account, *row in session.execute(statement):
        found.setdefault(account.id, (account, []))[1].append(row)
    return {name: (account, _balances(rows)) for name, (account, rows) in found.items()}


def _reach(window: int | None, requested: Mapping[str, int]) -> list[Span]:
    return [] if window is None else reach(window, requested)


def _parameters(account_id: str, near: list[Span]) -> dict[str, Any]:
    return {
        "account_id": account_id,
        "near_first": [first for first, _ in near],
        "near_last": [last for _, last in near],
    }


def _balances(rows: Any) -> dict[str, Balance]:
    return {
        dimension: Balance(int(size), int(charged), int(reserved))
        for dimension, size, charged, reserved in rows
    }


@lru_cache(maxsize=16)
def _select(*parts: str) -> Any:
    """Select the rows without a step, and those of the parts; a row may come twice."""
    constant = select(*_ROW).where(_MINE, BALANCES.c.step.is_(None))
    # UNION ALL: a dict keeps a row that comes twice once, and needs no sort for it.
    return union_all(constant, *(_PARTS[part] for part in parts))


def _near() -> Select[Any]:
    """Select the rows within the given stretches of steps."""
    firsts = sql_cast(bindparam("near_first", type_=ARRAY(Integer)), ARRAY(Integer))
    lasts = sql_cast(bindparam("near_last", type_=ARRAY(Integer)), ARRAY(Integer))
    near = func.unnest(firsts, lasts).table_valued("first", "last", name="near").render_derived()
    return select(*_ROW).join_from(near, BALANCES, and_(_MINE, BALANCES.c.step.between(*near.c)))


def _fullest() -> Select[Any]:
    """Select the rows of the fullest window: the earliest among equals, as the filter names it."""
    last = (
        select(BALANCES.c.step)
        .where(_MINE, BALANCES.c.step.is_not(None))
        # The order of ix_budget_balances_fullest, whose first entry is read.
        .order_by(BALANCES.c.window_committed.desc(), BALANCES.c.step)
        .limit(1)
        .scalar_subquery()
    )
    window = select(ACCOUNTS.c.window).where(ACCOUNTS.c.id == bindparam("account_id")).scalar_subquery()
    return select(*_ROW).where(_MINE, BALANCES.c.step.between(last - window + 1, last))


def _limited(statement: Select[Any]) -> Select[Any]:
    limited = statement.limit(bindparam("told", type_=Integer)).subquery()
    return select(*(limited.c[column.name] for column in _ROW))


_PARTS: dict[str, Select[Any]] = {
    "near": _near(),
    "fullest": _fullest(),
    "latest": _limited(_ORDERED.order_by(BALANCES.c.step.desc())),
    "within": _limited(
        _ORDERED.where(BALANCES.c.step.between(bindparam("first"), bindparam("last"))).order_by(
            BALANCES.c.step
        )
    ),
}
