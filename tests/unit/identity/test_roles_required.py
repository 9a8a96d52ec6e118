"""Roles: any of those named will do."""

from __future__ import annotations

import pytest

from core.errors import Forbidden
from core.identity.models import Role
from core.identity.service import Principal, require

AUDITOR = Principal(tenant="acme", key_id="key_1", name="audit", roles=frozenset({Role.AUDITOR}))


def test_any_of_the_roles_will_do() -> None:
    require(AUDITOR, Role.CURATOR, Role.AUDITOR)


def test_without_one_it_is_forbidden() -> None:
    with pytest.raises(Forbidden) as refused:
        require(AUDITOR, Role.REQUESTER, Role.CURATOR)
    assert refused.value.members["required_roles"] == ["curator", "requester"]


def test_no_roles_named_is_closed() -> None:
    with pytest.raises(Forbidden):
        require(AUDITOR)
