"""Accounts at an earlier moment. The database folds them from their entries up to then.

Only what a statement tells leaves the database: the sums without a step, the fullest window and the steps
asked for. Entries never change, so that every reading of a past moment finds the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import select, text
from sqlalchemy.orm import Session

from core.errors import InvalidInput, NotFound
from core.ledger import holdings, repository
from core.ledger.amounts import MAX_STEP
from core.ledger.entries import STANDING
from core.ledger.filters import Balance
from core.ledger.kinds import Filter
from core.ledger.models import BudgetAccount, LedgerEntry
from core.ledger.terms import dimensions

_NOW = text("SELECT clock_timestamp()")
_CUT = select(LedgerEntry.sequence, LedgerEntry.hash).order_by(LedgerEntry.sequence.desc()).limit(1)
# The capacity then, of a basic account, is the sum of its grants so far. A w-event account's are ``untimed``.
_GRANTED = text("""
SELECT sum(coalesce((amounts ->> 'epsilon')::numeric, (amounts ->> 'untimed')::numeric)),
    sum((amounts ->> 'delta')::numeric)
FROM ledger_entries WHERE account_id = :account_id AND kind = 'grant' AND sequence <= :cut
""")
# DISTINCT ON keeps each key's first row of the order: what the latest entry up to the cut says.
_STANDING = text("""
SELECT DISTINCT ON (s.key) s.key, s.value FROM ledger_entries AS e, jsonb_each_text(e.standing) AS s
WHERE e.account_id = :account_id AND e.sequence <= :cut ORDER BY s.key, e.sequence DESC
""")
# Signs as posting.py moves balances: an ending takes off what was reserved, an adjustment never
# was. RANGE, not ROWS: a window spans numbers of steps, and a step without spend has no row.
_FOLDED = """
WITH moves AS (
    SELECT m.key AS dimension, e.kind, m.value::numeric AS amount
    FROM ledger_entries AS e, jsonb_each_text(e.amounts) AS m
    WHERE e.account_id = :account_id AND e.sequence <= :cut AND e.kind <> 'grant'
), folded AS MATERIALIZED (
    SELECT dimension, CASE WHEN dimension LIKE 'step/%' THEN substr(dimension, 6)::integer END AS step,
        sum(CASE WHEN kind IN ('charge', 'forfeit', 'adjust') THEN amount ELSE 0 END) AS charged,
        sum(CASE kind WHEN 'reserve' THEN amount WHEN 'adjust' THEN 0 ELSE -amount END) AS reserved
    FROM moves GROUP BY dimension
), windows AS (
    SELECT step, sum(charged + reserved)
        OVER (ORDER BY step RANGE BETWEEN :reach PRECEDING AND CURRENT ROW) AS committed
    FROM folded WHERE step IS NOT NULL
), fullest AS (
    SELECT step AS last FROM windows ORDER BY committed DESC, step LIMIT 1
), told AS (
    SELECT step FROM folded WHERE step BETWEEN :first AND :last ORDER BY step {order} LIMIT :told
)
SELECT dimension, charged, reserved FROM folded
WHERE step IS NULL OR step IN (SELECT step FROM told)
    OR EXISTS (SELECT FROM fullest WHERE folded.step BETWEEN fullest.last - :reach AND fullest.last)
"""
_LATEST, _WITHIN = text(_FOLDED.format(order="DESC")), text(_FOLDED.format(order="ASC"))


def snapshot(
    session: Session, account_id: str, as_of: datetime, *, steps: holdings.Span | None = None
) -> tuple[BudgetAccount, dict[str, Balance]]:
    """Read the account and its balances at that moment. It does so as :func:`core.ledger.holdings.snapshot`
    reads today's.

    The account is a copy that no session keeps. Waits for whoever holds the account. Raises NotFound, and
    InvalidInput (``as_of``) for a time without a zone, in the future, or before the account was opened.
    O(entries until then) in the database; in memory no more than a statement tells.
    """
    if as_of.tzinfo is None:
        raise InvalidInput("a time needs its zone", field="as_of")
    # By PostgreSQL's clock, which dates the entries.
    if as_of > session.execute(_NOW).scalar_one():
        raise InvalidInput("that time has not come", field="as_of")
    # Whoever holds the account may be writing an entry of an earlier time.
    present = repository.settled_account(session, account_id)
    if present is None:
        raise NotFound("no such budget account", id=account_id)
    until = _CUT.where(LedgerEntry.account_id == account_id, LedgerEntry.created_at <= as_of)
    newest = session.execute(until).one_or_none()
    if newest is None:
        raise InvalidInput("the account was opened later", field="as_of")
    at = {"account_id": account_id, "cut": newest.sequence}
    row = repository.columns(present)
    row |= {"last_sequence": newest.sequence, "last_hash": newest.hash}
    row |= _standing(session, at)
    # Under RENYI the capacity never changes: today's row has it.
    if present.filter == Filter.BASIC:
        nano_epsilon, delta_atto = session.execute(_GRANTED, at).one()
        row |= {"capacity_nano_epsilon": int(nano_epsilon), "capacity_delta_atto": int(delta_atto)}
    account = BudgetAccount(**row)
    return account, _balances(session, account, at, steps)


def _standing(session: Session, at: Mapping[str, Any]) -> dict[str, Any]:
    stored = {row.key: row.value for row in session.execute(_STANDING, at)}
    times = {name: stored.get(name) for name in STANDING if name.endswith("_at")}
    return {
        "consecutive_give_backs": int(stored.get("consecutive_give_backs", 0)),
        **{name: None if value is None else datetime.fromisoformat(value) for name, value in times.items()},
    }


def _balances(
    session: Session, account: BudgetAccount, at: Mapping[str, Any], steps: holdings.Span | None
) -> dict[str, Balance]:
    capacities = dimensions(account.terms)
    found = {dimension: Balance(capacity) for dimension, capacity in capacities.items()}
    first, last = steps or (0, MAX_STEP)
    span = {"reach": (account.window or 1) - 1, "first": first, "last": last}
    statement = _LATEST if steps is None else _WITHIN
    # One more than is shown says whether more follow.
    rows = session.execute(statement, {**at, **span, "told": holdings.STEPS_SHOWN + 1})
    for dimension, charged, reserved in rows:
        capacity = capacities.get(dimension, account.capacity_nano_epsilon)
        found[dimension] = Balance(capacity, int(charged), int(reserved))
    return found
