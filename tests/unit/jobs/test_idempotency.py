"""Keys and payload hashes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import IdempotencyKeyMissing, InvalidInput
from core.jobs.idempotency import checked_key, payload_hash

PAYLOADS = st.dictionaries(st.text(max_size=8), st.integers() | st.text(max_size=8) | st.none(), max_size=5)


@given(PAYLOADS)
def test_the_order_of_members_does_not_matter(payload: dict[str, object]) -> None:
    turned = dict(reversed(payload.items()))
    assert payload_hash(payload) == payload_hash(turned)


@given(PAYLOADS, PAYLOADS)
def test_payloads_that_differ_hash_differently(one: dict[str, object], other: dict[str, object]) -> None:
    assert (payload_hash(one) == payload_hash(other)) == (one == other)


def test_a_payload_that_is_no_json_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        payload_hash({"epsilon": float("nan")})


@pytest.mark.parametrize("key", ["a", "x" * 255, "6f1c3a52-8a5e-4a0e-9f0e-0d8f6e9a2b11", "!~"])
def test_plain_keys_pass(key: str) -> None:
    assert checked_key(key) == key


@pytest.mark.parametrize("key", ["x" * 256, "with space", "tab\t", "ümlaut", "new\nline"])
def test_other_keys_are_refused(key: str) -> None:
    with pytest.raises(InvalidInput):
        checked_key(key)


@pytest.mark.parametrize("key", [None, ""])
def test_a_missing_key_is_told(key: str | None) -> None:
    with pytest.raises(IdempotencyKeyMissing):
        checked_key(key)
