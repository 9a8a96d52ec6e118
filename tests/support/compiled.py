"""What SQLAlchemy finds out once for all engines of a session, as each test opens several.

An engine keeps the statements that it has compiled for its dialect, and what its server has told it; both
are lost with the test. All dialects of PostgreSQL are one here, as all of these servers are.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Engine
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.util import LRUCache

MOST = 5_000
_compiled: LRUCache[Any, Any] = LRUCache(MOST)
_server: dict[str, Any] = {}
"""What the first engine asked its server: its version, its types and how it reads texts."""


class OneDialect(PGDialect_psycopg):
    """PostgreSQL's dialect, of which each engine has an equal one."""

    supports_statement_cache = True

    def __eq__(self, other: object) -> bool:
        return type(other) is OneDialect

    def __hash__(self) -> int:
        return hash(OneDialect)

    def initialize(self, connection: Connection) -> None:
        """Ask the server what it is, unless another engine has."""
        if not _server:
            before = dict(vars(self))
            super().initialize(connection)
            _server.update(
                {key: held for key, held in vars(self).items() if before.get(key, self) is not held}
            )
        vars(self).update(_server)

    @classmethod
    def engine_created(cls, engine: Engine) -> None:
        """Let the engine look where all others do."""
        engine.update_execution_options(compiled_cache=_compiled)


def pytest_configure() -> None:
    """Give every engine that the session opens this dialect; processes that it starts have their own."""
    registry.register("postgresql.psycopg", __name__, OneDialect.__name__)
