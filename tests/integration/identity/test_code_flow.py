"""The issuer's discovery document is asked for once in a while, whatever comes of it."""

from typing import Any

import httpx
import pytest

from core.errors import IssuerUnavailable
from core.identity import code_flow
from core.identity.code_flow import Attempt, CodeFlow
from core.identity.oidc import Issuer
from core.settings import Settings
from tests.integration.identity.conftest import Clock

pytestmark = pytest.mark.extras

ISSUER = "https://sign-in.example.org"


def begin(flow: CodeFlow) -> str:
    return flow.address(Attempt.fresh(), "https://graphs.example.org/console/sign-in/callback")


def test_an_issuer_that_does_not_answer_is_left_alone_for_a_while(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
):
    known = Settings(oidc_issuer=ISSUER, oidc_audience="graphveil", oidc_client_id="console")
    flow = CodeFlow(known, Issuer(known))
    asked: list[str] = []

    def read(settings: Settings, address: str) -> dict[str, Any]:
        asked.append(address)
        if len(asked) == 1:
            raise httpx.ConnectError("nobody listens")
        return {"issuer": ISSUER, "authorization_endpoint": f"{ISSUER}/begin"}

    monkeypatch.setattr(code_flow, "read_document", read)
    for _ in range(3):
        with pytest.raises(IssuerUnavailable):
            begin(flow)
    assert len(asked) == 1
    clock.now += code_flow.RETRY_SECONDS
    for _ in range(3):
        assert begin(flow).startswith(f"{ISSUER}/begin?")
    assert len(asked) == 2
