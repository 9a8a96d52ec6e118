"""The closed vocabularies of the ledger. Nothing of a database here."""

from __future__ import annotations

from enum import StrEnum


class Scope(StrEnum):
    """Whose spending an account limits: a whole protection domain's, or one team's or project's within it."""

    DOMAIN = "domain"
    TEAM = "team"
    PROJECT = "project"


class Filter(StrEnum):
    """How charges add up. Chosen when the account is opened; never changes."""

    BASIC = "basic"
    RENYI = "renyi"


class EntryKind(StrEnum):
    """What a ledger entry says.

    GRANT    capacity was given: at the opening, or later by two persons.
    RESERVE  an amount was set aside for a job.
    CHARGE   a reservation became spent: a release was published; names the digests of its artifacts.
    FORFEIT  a reservation became spent without a release: the graph was opened before the job ended.
    RELEASE  a reservation returned in full.
    EXPIRE   a reservation ran out before its job began, and returned in full.
    ADJUST   a correction, with its reason: spend outside the service, or a block that was lifted.
    DERIVE   zero amount: a further sample of a charged model; names its digests.
    EXPOSE   zero amount: a graph was opened without a guarantee (no digests), or a release made of it (its
             files'); from then on no epsilon can be claimed.
    """

    GRANT = "grant"
    RESERVE = "reserve"
    CHARGE = "charge"
    FORFEIT = "forfeit"
    RELEASE = "release"
    EXPIRE = "expire"
    ADJUST = "adjust"
    DERIVE = "derive"
    EXPOSE = "expose"


TERMINAL = (EntryKind.CHARGE, EntryKind.FORFEIT, EntryKind.RELEASE, EntryKind.EXPIRE)
