"""Signatures, secrets and pauses, against the specification's own library and table."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from core.webhooks import service, signing
from core.webhooks.signing import Secret

NOW = datetime.now(UTC)
BODY = signing.body_of({"type": "job.published", "data": {"job_id": "job_1", "label": "caf\u00e9"}})


def test_the_librarys_verification_accepts_what_was_signed_and_nothing_else() -> None:
    now = datetime.now(UTC)  # the library compares with the clock
    secret = signing.new_secret()
    headers = signing.headers("whd_1", now, BODY, [secret])
    assert Webhook(secret.text).verify(BODY, headers)["type"] == "job.published"
    for name, value in (("webhook-id", "whd_2"), ("webhook-timestamp", str(int(now.timestamp()) + 1))):
        with pytest.raises(WebhookVerificationError):
            Webhook(secret.text).verify(BODY, headers | {name: value})
    with pytest.raises(WebhookVerificationError):
        Webhook(secret.text).verify(BODY + b" ", headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(signing.new_secret().text).verify(BODY, headers)


def test_the_clocks_zone_does_not_matter() -> None:
    secret = signing.new_secret()
    elsewhere = NOW.astimezone(datetime.now().astimezone().tzinfo)
    assert signing.headers("whd_1", elsewhere, BODY, [secret]) == signing.headers(
        "whd_1", NOW, BODY, [secret]
    )


def test_a_secret_is_256_random_bits_in_the_specifications_form() -> None:
    first, second = signing.new_secret().text, signing.new_secret().text
    assert first != second
    assert first.startswith("whsec_")
    assert len(base64.b64decode(first.removeprefix("whsec_"))) == 32


def test_both_secrets_sign_for_a_time_after_a_rotation() -> None:
    now = datetime.now(UTC)  # the library compares with the clock
    old = [signing.new_secret()]
    day = now + timedelta(days=1)
    both = signing.rotated(old, now, day)
    assert [secret.until for secret in both] == [None, day]
    headers = signing.headers("whd_1", now, BODY, both)
    for secret in (both[0], old[0]):
        Webhook(secret.text).verify(BODY, headers)
    assert signing.valid(both, day) == both[:1]
    third = signing.rotated(both, now + timedelta(hours=1), now + timedelta(hours=25))
    assert [secret.until for secret in third] == [None, now + timedelta(hours=25), day]
    assert signing.loads(signing.dumps(third)) == third


def test_a_secret_kept_is_a_secret_shown() -> None:
    assert signing.loads(signing.dumps([Secret("whsec_eA==")])) == [Secret("whsec_eA==")]


def test_pauses_are_those_of_the_specification_and_up_to_a_fifth_longer() -> None:
    table = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400]
    for attempt, plain in enumerate(table, start=1):
        drawn = {service.pause_seconds(f"whd_{n}", attempt) for n in range(200)}
        assert all(plain <= pause <= 1.2 * plain for pause in drawn)
        assert max(drawn) - min(drawn) > 0.15 * plain
    assert service.pause_seconds("whd_1", 3) == service.pause_seconds("whd_1", 3)
