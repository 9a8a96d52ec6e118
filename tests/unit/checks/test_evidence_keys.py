"""The key for packs: made of the heads' key, certified by it, and no way back."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from core.checks import evidence_keys, signed_heads
from core.errors import InvalidInput
from graphveil.errors import EvidenceRefused
from graphveil.evidence.signatures import check, check_day, holds, signature_file

SEED, DAY = "ab" * 32, date(2026, 11, 27)


def test_the_seed_follows_from_the_other_and_is_another():
    made = evidence_keys.seed_of(SEED)
    assert made == evidence_keys.seed_of(SEED) != SEED
    assert evidence_keys.seed_of("cd" * 32) != made
    with pytest.raises(InvalidInput):
        evidence_keys.seed_of("ab")


def test_a_certificate_is_the_issuers_word_for_some_days():
    issuer = signed_heads.signing_key(SEED)
    public = evidence_keys.public_key_of(evidence_keys.seed_of(SEED))
    made = evidence_keys.certified(issuer, public, DAY)
    assert (made.valid_from, made.valid_until) == ("2026-11-27", "2027-02-25")
    assert holds(made.issuer, made.signature, made.payload())
    for changed in ({"valid_until": "2099-01-01"}, {"public_key": made.issuer}):
        assert not holds(made.issuer, made.signature, replace(made, **changed).payload())
    check_day(made, "2027-02-25")
    for day in ("2027-02-26", "2026-11-26"):
        with pytest.raises(EvidenceRefused):
            check_day(made, day)


def test_a_signature_is_for_packs_alone():
    """What signs heads or certificates signs nothing that passes for a pack."""
    seed = evidence_keys.seed_of(SEED)
    issuer = signed_heads.signing_key(SEED)
    certificate = evidence_keys.certified(issuer, evidence_keys.public_key_of(seed), DAY)
    bare = signed_heads.signing_key(seed).sign(b"{}").hex()
    with pytest.raises(EvidenceRefused, match="does not hold"):
        check(b"{}", signature_file(certificate, bare), ())
    assert check(b"{}", signature_file(certificate, evidence_keys.sign(seed, b"{}")), ()) == certificate
