"""An issuer over real HTTP, and the settings that trust it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from core.settings import Settings
from tests.support import issuer
from tests.support.issuer import AUDIENCE

LONGEST_SECONDS = 60.0  # that a fetch from an issuer may take by the settings


class Clock:
    """A monotonic clock that goes on when a test says so."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock by which what the issuer told grows old, and callers are forgotten."""
    made = Clock()
    identity = ("cache", "code_flow", "jwks")
    for module in (*(f"core.identity.{each}" for each in identity), "core.workflows.identity.authenticate"):
        monkeypatch.setattr(f"{module}.time", made)
    return made


@pytest.fixture
def idp() -> Iterator[issuer.Issuer]:
    """An issuer with one RSA key, ``r1``."""
    with issuer.running() as running:
        running.add_rsa("r1")
        yield running


@pytest.fixture
def trusting(idp: issuer.Issuer) -> Callable[..., Settings]:
    """Settings of a service that trusts the issuer; keyword arguments without the prefix ``oidc_``."""

    def make(**changes: Any) -> Settings:
        named = {f"oidc_{name}": value for name, value in changes.items()}
        patient = {"oidc_timeout_seconds": LONGEST_SECONDS}
        return Settings(**{"oidc_issuer": idp.url, "oidc_audience": AUDIENCE, **patient, **named})

    return make
