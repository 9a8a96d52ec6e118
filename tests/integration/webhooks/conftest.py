"""A receiver on this machine, and a service that may send to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from core.settings import Settings
from core.workflows.common.context import Services, open_services
from tests.support.receiver import Receiver, receiver


@pytest.fixture
def inbox() -> Iterator[Receiver]:
    with receiver() as running:
        yield running


@pytest.fixture
def service(settings: Settings, inbox: Receiver) -> Iterator[Services]:
    """A service that may send to this machine."""
    opened = open_services(
        settings.model_copy(
            update={
                "webhook_ports": (inbox.port, 443),
                "webhook_private_addresses": True,
                "webhook_attempts": 3,
                "webhook_failures": 2,
                "public_url": "https://graphveil.example.org/",
            }
        )
    )
    yield opened
    opened.close()
