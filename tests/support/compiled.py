"""Statements that SQLAlchemy compiles once for all engines of a session: each test opens several.

An engine keeps what it has compiled for its dialect, and loses it with the test. All dialects of PostgreSQL
are one here, as all of these servers are.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Engine
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.util import LRUCache

MOST = 5_000
_compiled: LRUCache[Any, Any] = LRUCache(MOST)


class OneDialect(PGDialect_psycopg):
    """PostgreSQL's dialect, of which each engine has an equal one."""

    supports_statement_cache = True

    def __eq__(self, other: object) -> bool:
        return type(other) is OneDialect

    def __hash__(self) -> int:
        return hash(OneDialect)

    @classmethod
    def engine_created(cls, engine: Engine) -> None:
        """Let the engine look where all others do."""
        engine.update_execution_options(compiled_cache=_compiled)


def pytest_configure() -> None:
    """Give every engine that the session opens this dialect; processes that it starts have their own."""
    registry.register("postgresql.psycopg", __name__, OneDialect.__name__)
