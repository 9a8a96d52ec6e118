"""Evidence packs over HTTP: who is given which edition, and that each verifies without the service."""

from __future__ import annotations

import pytest

from core.identity.models import Role
from graphveil.evidence.verify import verify
from tests.integration.api.conftest import Tenant


def test_smoke(house: Tenant, published_job: str):
    answer = house.call("GET", f"/jobs/{published_job}/evidence")
    assert answer.status_code == 200, answer.text
    found = verify(answer.content)
    print(found.refused, found.held, found.open)
    open("/tmp/ev/pack.zip", "wb").write(answer.content)
    assert found.holds
