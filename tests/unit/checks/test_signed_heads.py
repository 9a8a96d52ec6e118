"""Documents of signed heads: what is signed can be read, and nothing else."""

from __future__ import annotations

import json

import pytest

from core.checks import signed_heads
from core.checks.signed_heads import Head, Previous
from core.errors import InvalidInput

KEY = signed_heads.signing_key("01" * 32)
OTHER = signed_heads.signing_key("02" * 32)
TRUSTED = {signed_heads.key_id(KEY.public_key()): KEY.public_key()}
ACCOUNTS = (Head("acc_1", 4, "ab" * 32, 10**9, 0), Head("acc_2", 1, "cd" * 32, 10**15, 10**12))
WHEN = "2026-01-02T03:04:05+00:00"


def document(**changed: object) -> bytes:
    """A signed document, some of it changed afterwards."""
    plain = json.loads(signed_heads.signed(KEY, WHEN, ACCOUNTS, Previous("ledger-heads/x.json", "ef" * 32)))
    return json.dumps(plain | changed).encode()


def test_what_was_signed_is_read_back() -> None:
    heads = signed_heads.opened(document(), TRUSTED)
    assert heads.accounts == ACCOUNTS
    assert (heads.taken_at, heads.previous) == (WHEN, Previous("ledger-heads/x.json", "ef" * 32))
    first = signed_heads.signed(KEY, WHEN, (), None)
    assert signed_heads.opened(first, TRUSTED).previous is None


@pytest.mark.parametrize(
    "changed",
    [
        {"taken_at": "2026-01-02T03:04:06+00:00"},
        {"count": 1},
        {"previous": None},
        {"version": 2},
        {"accounts": []},
        {"extra": 1},
        {"signature": "00" * 64},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_any_change_voids_the_signature(changed: dict[str, object]) -> None:
    with pytest.raises(InvalidInput, match="signature"):
        signed_heads.opened(document(**changed), TRUSTED)


def test_every_byte_of_a_document_counts() -> None:
    whole = signed_heads.signed(KEY, WHEN, ACCOUNTS, None)
    for position in range(len(whole)):
        flipped = whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :]
        with pytest.raises(InvalidInput):
            signed_heads.opened(flipped, TRUSTED)


def test_another_key_is_not_believed() -> None:
    strange = signed_heads.signed(OTHER, WHEN, ACCOUNTS, None)
    with pytest.raises(InvalidInput, match="not trusted"):
        signed_heads.opened(strange, TRUSTED)
    claimed = json.loads(strange) | {"key_id": signed_heads.key_id(KEY.public_key())}
    with pytest.raises(InvalidInput, match="signature"):
        signed_heads.opened(json.dumps(claimed).encode(), TRUSTED)


@pytest.mark.parametrize(
    "text", [b"", b"{}", b"[]", b"null", b"\xff", b"1", b'{"signature": 1}', b"[" * 50_000]
)
def test_what_is_no_document_is_refused(text: bytes) -> None:
    with pytest.raises(InvalidInput):
        signed_heads.opened(text, TRUSTED)


@pytest.mark.parametrize("seed", ["", "zz" * 32, "01" * 31, "01" * 33])
def test_a_seed_has_32_bytes(seed: str) -> None:
    with pytest.raises(InvalidInput, match="32 bytes"):
        signed_heads.signing_key(seed)


def test_a_public_key_is_kept_as_text() -> None:
    text = signed_heads.key_text(KEY.public_key())
    assert signed_heads.key_id(signed_heads.public_key(text)) in TRUSTED
