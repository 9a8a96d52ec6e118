"""Content keys, one per dataset. They are wrapped by the master key, destroyed to erase a content for
good."""

from __future__ import annotations

import os

from cryptography.hazmat.primitives.keywrap import InvalidUnwrap, aes_key_unwrap, aes_key_wrap
from pydantic import SecretStr
from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from core.datasets.models import DatasetKey
from core.errors import InvalidInput, NotFound, StorageError

KEY_BYTES = 32


def secret_bytes(secret: SecretStr, name: str) -> bytes:
    """Read the 32 bytes that a setting holds as hex. InvalidInput naming the variable where it does not."""
    try:
        key = bytes.fromhex(secret.get_secret_value())
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise InvalidInput(
            f"{name} must hold {KEY_BYTES} random bytes as {2 * KEY_BYTES} hex digits", field=name
        )
    return key


def check_master_key(master_key: SecretStr) -> bytes:
    """Read the master key; InvalidInput where it is missing or malformed. Called before any work starts."""
    return secret_bytes(master_key, "GRAPHVEIL_MASTER_KEY")


def create_key(session: Session, dataset_id: str, master_key: SecretStr) -> None:
    """Give the dataset a fresh content key. It is stored wrapped (AES key wrap, RFC 3394)."""
    wrapped = aes_key_wrap(check_master_key(master_key), os.urandom(KEY_BYTES))
    session.add(DatasetKey(dataset_id=dataset_id, wrapped_key=wrapped))
    session.flush()


def content_key(session: Session, dataset_id: str, master_key: SecretStr) -> bytes:
    """Unwrap the dataset's content key. NotFound once destroyed, StorageError under another master key."""
    row = session.get(DatasetKey, dataset_id)
    if row is None:
        raise NotFound("the dataset's content has been erased")
    try:
        return aes_key_unwrap(check_master_key(master_key), row.wrapped_key)
    except InvalidUnwrap as error:
        raise StorageError("the dataset's key was wrapped under another master key") from error


def has_key(session: Session, dataset_id: str) -> bool:
    """Tell whether the dataset's content can still be read."""
    query = select(DatasetKey.dataset_id).where(DatasetKey.dataset_id == dataset_id)
    return session.scalar(query) is not None


def destroy_key(session: Session, dataset_id: str) -> None:
    """Destroy the dataset's key. Nothing that was sealed under it can be read again once this commits."""
    session.execute(delete(DatasetKey).where(DatasetKey.dataset_id == dataset_id))
