"""Has this process find some libraries missing, as where they are not installed."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

LEARNING = ("torch", "torch_geometric", "sklearn", "sympy", "gensim", "dgl")
"""What only learned methods and comparisons use, and what comes with it."""
SERVICE = (
    *("alembic", "botocore", "celery", "fastapi", "fastapi_offline", "jsonschema", "jwt"),
    *(
        "kombu",
        "limits",
        "markdown_it",
        "multipart",
        "obstore",
        "opentelemetry",
        "prometheus_client",
        "psycopg",
    ),
    *("pynvml", "redis", "sqlalchemy", "starlette", "structlog", "uvicorn"),
)
"""Web framework, broker, database, tracing, and what else only the service's processes use."""


class Without:
    """Finds what others find, but for what is named."""

    def __init__(self, libraries: Collection[str], others: Sequence[Any]) -> None:
        self._libraries, self._others = frozenset(libraries), others

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module; None where it belongs to a library that is to be missing."""
        if name.partition(".")[0] in self._libraries:
            return None
        found = (each.find_spec(name, path, target) for each in self._others)
        return next((spec for spec in found if spec is not None), None)

    def find_distributions(self, context: Any) -> Iterator[Any]:
        """Find the metadata of packages, those that are to be missing too."""
        for each in self._others:
            yield from getattr(each, "find_distributions", lambda _: ())(context)


def remove(*libraries: str) -> None:
    """Let no later import of these libraries succeed; none of them is loaded yet."""
    loaded = [name for name in libraries if name in sys.modules]
    assert not loaded, f"{loaded} are loaded already"
    sys.meta_path[:] = [Without(libraries, tuple(sys.meta_path))]  # type: ignore[list-item]
