"""The ledger's heads, signed. They are kept where no restore of the database reaches them.

A restored backup is a ledger that has forgotten: its chains are intact, and shorter. Only something outside
the database can tell. Documents lie in the object store under ``ledger-heads/<UTC day>.json``, written once;
a copy kept elsewhere tells even when database and object store are restored together.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from core.checks import signed_heads
from core.checks.signed_heads import Head, Heads, Previous
from core.errors import Conflict, InvalidInput, StorageError
from core.ledger.models import BudgetAccount
from core.settings import Settings
from core.storage.store import ObjectStore
from core.workflows.common.context import Services
from core.workflows.ledger.invariants.base import Finding

FOLDER = "ledger-heads"
BATCH = 1_000
MAX_DOCUMENT_BYTES = 256 * 2**20

# The account now, beside what was signed: the entry that stood last then, by its number.
_KNOWN = text("""
    SELECT w.account_id, a.tenant, a.last_sequence, a.capacity_nano_epsilon, a.capacity_delta_atto,
        encode(e.hash, 'hex')
    FROM unnest(CAST(:ids AS text[]), CAST(:sequences AS bigint[])) AS w (account_id, sequence)
    LEFT JOIN budget_accounts AS a ON a.id = w.account_id
    LEFT JOIN ledger_entries AS e ON e.account_id = w.account_id AND e.sequence = w.sequence
""")


def trusted_keys(settings: Settings) -> dict[str, Ed25519PublicKey]:
    """Collect the public keys of trusted heads, by id. They are the signing key's, and the settings'."""
    keys = [
        signed_heads.public_key(each.strip()) for each in settings.head_public_keys.split(",") if each.strip()
    ]
    seed = settings.head_signing_key.get_secret_value()
    if seed:
        keys.append(signed_heads.signing_key(seed).public_key())
    return {signed_heads.key_id(key): key for key in keys}


def newest(store: ObjectStore) -> str | None:
    """Find the object key of the newest document. None where there is none. Names sort by time."""
    return max((stored.key for stored in store.list(FOLDER)), default=None)


def read(store: ObjectStore, key: str) -> bytes:
    """Read a stored document. StorageError where it is missing or larger than any document is."""
    if store.size(key) > MAX_DOCUMENT_BYTES:
        raise StorageError("a document of heads is too large")
    return b"".join(store.get(key))


def export_due(services: Services) -> bool:
    """Tell whether the newest document is too old. The settings say so, by PostgreSQL's clock. Needs a
    key."""
    if not services.settings.head_signing_key.get_secret_value():
        return False
    taken = _taken_at(services)
    if taken is None:
        return True
    with services.db.transaction() as session:
        # Both times are the database's: clocks of hosts may differ.
        return _now(session) - taken >= timedelta(seconds=services.settings.heads_every_seconds)


def overdue(services: Services, session: Session) -> Iterator[Finding]:
    """Find whether accounts have gone unsigned too long. There is one finding where they have for twice as
    long as the settings say. Needs a key.

    A newest document that cannot be opened has no time: :func:`compare` tells of it.
    """
    if not services.settings.head_signing_key.get_secret_value():
        return
    try:
        since = _taken_at(services)
    except InvalidInput:
        return
    if since is None:
        # Nothing was ever signed: overdue is counted from the first account.
        since = session.execute(select(func.min(BudgetAccount.created_at))).scalar_one()
    # Twice the interval, so that one late run is no finding.
    if since is not None and _now(session) - since > 2 * timedelta(
        seconds=services.settings.heads_every_seconds
    ):
        yield Finding("", FOLDER, f"no signed heads were exported since {since.isoformat()}")


def _taken_at(services: Services) -> datetime | None:
    key = newest(services.store)
    if key is None:
        return None
    heads = signed_heads.opened(read(services.store, key), trusted_keys(services.settings))
    return datetime.fromisoformat(heads.taken_at)


def _now(session: Session) -> datetime:
    now: datetime = session.execute(select(func.now())).scalar_one()
    return now.astimezone(UTC)


def export(services: Services) -> tuple[str, bytes]:
    """Store a new document of signed heads. It stands in the object store; returned are its key and its
    bytes.

    Conflict while the ledger has lost anything that the newest document knows: a document of a restored
    ledger would hide the loss. InvalidInput without a signing key. One reading of all accounts.
    """
    settings, store = services.settings, services.store
    signing = signed_heads.signing_key(settings.head_signing_key.get_secret_value())
    with services.db.transaction() as session:
        snapshot(session)
        before = newest(store)
        previous = None
        if before is not None:
            document = read(store, before)
            if next(lost(session, signed_heads.opened(document, trusted_keys(settings))), None) is not None:
                raise Conflict("the ledger has lost entries that were signed; it is not exported")
            # Chained by digest: a document that is replaced or removed shows in the one after it.
            previous = Previous(before, hashlib.sha256(document).hexdigest())
        now = _now(session)
        document = signed_heads.signed(signing, now.isoformat(), _heads(session), previous)
    # The day's first has the short name, which sorts before its later ones. None is ever overwritten: of two
    # exporters at once the slower has to try again.
    for key in (f"{FOLDER}/{now:%Y-%m-%d}.json", f"{FOLDER}/{now:%Y-%m-%dT%H%M%S.%f}Z.json"):
        if (before is None or key > before) and store.put_new(key, document):
            return key, document
    raise Conflict("another export was faster; there is a document of this moment")


def snapshot(session: Session) -> None:
    """Let the session read one moment. It does whatever commits meanwhile, and writes nothing. Call it
    first."""
    session.connection(execution_options={"isolation_level": "REPEATABLE READ", "postgresql_readonly": True})


def lost(session: Session, heads: Heads) -> Iterator[Finding]:
    """Every account that has less than the document knows of it. O(accounts), in batches."""
    for start in range(0, len(heads.accounts), BATCH):
        part = heads.accounts[start : start + BATCH]
        parameters = {
            "ids": [head.account_id for head in part],
            "sequences": [head.sequence for head in part],
        }
        now = {row[0]: row for row in session.execute(_KNOWN, parameters)}
        for head in part:
            _, tenant, sequence, nano_epsilon, delta_atto, digest = now[head.account_id]
            if tenant is None:
                yield Finding("", head.account_id, f"the account is missing; it had {head.sequence} entries")
            # Fewer entries than were signed, or a gap where the signed one stood.
            elif sequence < head.sequence or digest is None:
                yield Finding(
                    tenant, head.account_id, f"the account has {sequence} entries; it had {head.sequence}"
                )
            # As many entries, but another history: written anew after a restore.
            elif digest != head.head:
                yield Finding(
                    tenant, head.account_id, f"entry {head.sequence} is not the one that was signed"
                )
            # Capacities only ever rise: less than was signed is a grant that is lost.
            elif nano_epsilon < head.capacity_nano_epsilon or delta_atto < head.capacity_delta_atto:
                yield Finding(tenant, head.account_id, "the capacity is less than was signed")


def unlinked(store: ObjectStore, heads: Heads) -> str | None:
    """Say what is wrong with the document before this one. It says so if anything is: the document is named
    by its digest."""
    if heads.previous is None:
        return None
    if not store.exists(heads.previous.key):
        return f"{heads.previous.key} is missing"
    found = hashlib.sha256(read(store, heads.previous.key)).hexdigest()
    return None if found == heads.previous.sha256 else f"{heads.previous.key} was changed"


def compare(services: Services, session: Session) -> Iterable[Finding]:
    """Find what ledger or store have lost. The newest document knows of it. Nothing without documents."""
    key = newest(services.store)
    if key is None:
        return
    try:
        heads = signed_heads.opened(read(services.store, key), trusted_keys(services.settings))
    except InvalidInput as error:
        yield Finding("", key, error.message)
        return
    gap = unlinked(services.store, heads)
    if gap is not None:
        yield Finding("", key, gap)
    yield from lost(session, heads)


def _heads(session: Session) -> Iterator[Head]:
    statement = (
        select(
            BudgetAccount.id,
            BudgetAccount.last_sequence,
            BudgetAccount.last_hash,
            BudgetAccount.capacity_nano_epsilon,
            BudgetAccount.capacity_delta_atto,
        )
        .order_by(BudgetAccount.id)
        # All heads need not fit into memory as rows.
        .execution_options(yield_per=BATCH)
    )
    for account_id, sequence, head, nano_epsilon, delta_atto in session.execute(statement):
        yield Head(account_id, sequence, head.hex(), nano_epsilon, delta_atto)
