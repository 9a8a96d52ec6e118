"""The key that signs evidence packs. The verifier issues its certificates, which the object store keeps.

They lie under ``evidence-keys/<key>-<first day>-<issuer>.json``. The verifier, which alone holds the key of
the heads, issues the next one when half of the days are over; whoever makes packs reads the newest.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, date, timedelta

from sqlalchemy.orm import Session

from core.checks import evidence_keys, signed_heads
from core.db.session import database_now
from core.errors import Conflict, StorageError
from core.identity.models import Role
from core.identity.service import Principal, require
from core.settings import Settings
from core.storage.store import ObjectStore
from core.workflows.common.context import Services
from core.workflows.ledger import head_exports
from graphveil.errors import EvidenceRefused
from graphveil.evidence.signatures import Certificate, canonical, certificate_of, check_day, holds, key_id
from graphveil.models.evidence import Certified, PublicKey, PublicKeys

FOLDER = "evidence-keys"
MAX_BYTES = 4096


def seed(settings: Settings) -> str:
    """Return the seed of the key for packs. In hex it is the settings' own, or made of the heads'; empty:
    none."""
    own = settings.evidence_signing_key.get_secret_value()
    heads = settings.head_signing_key.get_secret_value()
    return own or (evidence_keys.seed_of(heads) if heads else "")


def today(session: Session) -> date:
    """Tell the day in UTC, by PostgreSQL's clock."""
    return database_now(session).astimezone(UTC).date()


def certify_if_due(services: Services) -> str | None:
    """Certify the key for packs if it is due. A certificate stands for half its days at least; the key of a
    new one is returned.

    Needs the key of the heads; None without it, and where nothing was due.
    """
    heads = services.settings.head_signing_key.get_secret_value()
    if not heads:
        return None
    public = evidence_keys.public_key_of(evidence_keys.seed_of(heads))
    with services.db.transaction() as session:
        now = today(session)
    issuer = signed_heads.signing_key(heads)
    standing = _newest(services.store, services.settings, public, now)
    # Renewed at half its days, so that a few missed runs leave no day without one.
    half = (now + timedelta(days=evidence_keys.VALID_DAYS // 2)).isoformat()
    own = signed_heads.key_text(issuer.public_key())
    if standing is not None and standing.valid_until >= half and standing.issuer == own:
        return None
    made = evidence_keys.certified(issuer, public, now)
    key = f"{FOLDER}/{key_id(public)}-{now.isoformat()}-{key_id(made.issuer)}.json"
    return key if services.store.put_new(key, canonical(asdict(made))) else None


def standing(services: Services, now: date) -> tuple[str, Certificate]:
    """Return the seed that signs packs on that day. Its certificate comes too; Conflict where there is
    none."""
    settings = services.settings
    signing = seed(settings)
    if not signing:
        raise Conflict(
            "No key signs evidence packs here; the operator sets GRAPHVEIL_EVIDENCE_SIGNING_KEY, which "
            "python -m api.admin.ledger evidence-key prints."
        )
    public = evidence_keys.public_key_of(signing)
    heads = settings.head_signing_key.get_secret_value()
    # Whoever holds the heads' key too certifies at once, and needs nothing stored.
    if heads and public == evidence_keys.public_key_of(evidence_keys.seed_of(heads)):
        return signing, evidence_keys.certified(signed_heads.signing_key(heads), public, now)
    found = _newest(services.store, settings, public, now)
    if found is None:
        raise Conflict(
            "The key that signs evidence packs has no certificate that stands; the operator looks whether "
            "the verifier runs, and whether GRAPHVEIL_EVIDENCE_SIGNING_KEY is of the verifier's key."
        )
    return signing, found


def public_keys(services: Services, principal: Principal) -> PublicKeys:
    """List the public keys of heads and certificates. They answer for these; every role may read them."""
    require(principal, Role.REQUESTER, Role.CURATOR, Role.AUDITOR, Role.OPERATOR)
    trusted = head_exports.trusted_keys(services.settings)
    items = [PublicKey(key_id=name, public_key=signed_heads.key_text(key)) for name, key in trusted.items()]
    with services.db.transaction() as session:
        now = today(session)
    try:
        _, certificate = standing(services, now)
    except Conflict:
        return PublicKeys(items=items, evidence=None)
    certified = Certified(
        key_id=key_id(certificate.public_key),
        issuer_id=key_id(certificate.issuer),
        valid_from=certificate.valid_from,
        valid_until=certificate.valid_until,
    )
    return PublicKeys(items=items, evidence=certified)


def _newest(store: ObjectStore, settings: Settings, public: str, now: date) -> Certificate | None:
    """Find the certificate of the key that stands that day and does so longest, on a trusted key's word."""
    trusted = {signed_heads.key_text(key) for key in head_exports.trusted_keys(settings).values()}
    found: list[Certificate] = []
    for stored in store.list(FOLDER):
        if not stored.key.startswith(f"{FOLDER}/{key_id(public)}-"):
            continue
        # Before it is read: whoever can write there must not cost memory.
        if store.size(stored.key) > MAX_BYTES:
            raise StorageError("a certificate of a key for packs is too large")
        try:
            certificate = certificate_of(json.loads(b"".join(store.get(stored.key))))
            check_day(certificate, now.isoformat())
        except (EvidenceRefused, ValueError):
            continue  # expired, or none: whoever writes there can at most keep packs from being made
        # The object's name is anybody's to choose; only what is signed counts.
        believed = certificate.public_key == public and certificate.issuer in trusted
        if believed and holds(certificate.issuer, certificate.signature, certificate.payload()):
            found.append(certificate)
    return max(found, key=lambda each: each.valid_until, default=None)
