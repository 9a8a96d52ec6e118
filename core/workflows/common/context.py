"""What every workflow needs: the database, the object store, the settings."""

from __future__ import annotations

from dataclasses import dataclass

from core.db.session import Database
from core.settings import Settings
from core.storage.presigned import Credentials
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
    """Open services at the addresses that the settings name. No connection is opened before its first use."""
    return Services(
        db=Database(settings.database_url, pool_size=settings.database_connections),
        store=open_store(
            settings.storage_url, settings.storage_public_endpoint or None, _storage_credentials(settings)
        ),
        settings=settings,
    )


def _storage_credentials(settings: Settings) -> Credentials | None:
    """Those of the settings; None where the machine's own are to be found."""
    key, secret = settings.storage_access_key_id, settings.storage_secret_access_key
    if not key.get_secret_value():
        return None
    return Credentials(key.get_secret_value(), secret.get_secret_value())
