"""What every workflow needs: the database, the object store, the settings."""

from __future__ import annotations

from dataclasses import dataclass

from core.db.session import Database
from core.settings import Settings
from core.storage.store import ObjectStore, open_store


@dataclass(frozen=True)
class Services:
    """The outside world of a workflow. One per process; safe to share between threads."""

    db: Database
    store: ObjectStore
    settings: Settings

    def close(self) -> None:
        """Every pooled connection is closed."""
        self.db.dispose()


def open_services(settings: Settings) -> Services:
    """Services at the addresses that the settings name. No connection is opened before its first use."""
    return Services(
        db=Database(settings.database_url, pool_size=settings.database_connections),
        store=open_store(settings.storage_url, settings.storage_public_endpoint or None),
        settings=settings,
    )
