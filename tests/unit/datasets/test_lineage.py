"""Which account a content draws on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.datasets.lineage import Terms, child_key, keyed_fingerprint, refusal

OWN = Terms("acc_own", "new", "edge", None, "basic", False)
OWNER = Terms("acc_owner", "hospital", "edge", None, "basic", False)


def test_the_account_it_already_draws_on_is_never_refused() -> None:
    assert refusal(OWN, replace(OWN, unit="pair"), settled=True) is None


def test_equal_terms_attach() -> None:
    assert refusal(OWN, OWNER, settled=False) is None


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"unit": "event"}, "unit event instead of edge"),
        ({"window": 3}, "window 3 instead of none"),
        ({"filter": "renyi"}, "filter renyi instead of basic"),
        ({"public": True}, "public true instead of false"),
        ({"apart": True}, "records apart true instead of false"),
        ({"grid": "start 0, width 7"}, "time grid start 0, width 7 instead of none"),
    ],
)
def test_other_terms_are_refused_by_name(change: dict, word: str) -> None:
    message = refusal(OWN, replace(OWNER, **change), settled=False)
    assert message is not None
    assert word in message
    assert "'hospital'" in message


def test_a_settled_account_does_not_move() -> None:
    message = refusal(OWN, OWNER, settled=True)
    assert message is not None
    assert "'hospital'" in message
    assert "'new'" in message


def test_fingerprints_depend_on_key_tenant_and_content() -> None:
    base = keyed_fingerprint(b"k" * 32, tenant="a", content="x")
    assert base == keyed_fingerprint(b"k" * 32, tenant="a", content="x")
    others = {
        keyed_fingerprint(b"j" * 32, tenant="a", content="x"),
        keyed_fingerprint(b"k" * 32, tenant="b", content="x"),
        keyed_fingerprint(b"k" * 32, tenant="a", content="y"),
    }
    assert base not in others
    assert len(others) == 3
    assert child_key(b"k" * 32) not in (b"k" * 32, child_key(b"j" * 32))
