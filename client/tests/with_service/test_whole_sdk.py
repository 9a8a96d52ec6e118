"""What the tests beside this one have called: the whole SDK, and nothing of the service's own code."""

from __future__ import annotations

from importlib.util import find_spec

from graphveil import Graphveil

from .conftest import PARTS, calls_of

NOT_HERE = ("torch", "celery", "core", "api", "worker", "sklearn", "opendp")


def test_neither_the_service_nor_its_libraries_are_installed():
    assert [name for name in NOT_HERE if find_spec(name) is not None] == []


def test_every_call_was_made(service: Graphveil, called: set[str]):
    known = {PARTS[kind] + name for kind in PARTS for name in calls_of(kind)}
    assert known - called == set()
    assert len(known) > 60
