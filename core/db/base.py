"""The declarative base."""

from __future__ import annotations

from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import DateTime, MetaData, Select, func, tuple_
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}


# FOR NO KEY UPDATE: one holder at a time, but no wait for whoever only refers to the row. Keys never change,
# and PostgreSQL checks a row's references again when one transaction updates it twice: under FOR UPDATE a job
# that ends would wait for its dataset, and the archiving of that dataset for the job.
ROW_LOCK: dict[str, Any] = {"key_share": True}


Rows = TypeVar("Rows", bound="Select[*tuple[Any, ...]]")


class Base(DeclarativeBase):
    """Every table of the service."""

    metadata = MetaData(naming_convention=NAMING)
    type_annotation_map = {datetime: DateTime(timezone=True)}  # noqa: RUF012


class CreatedAt:
    """A row that knows when the database saw it first."""

    created_at: Mapped[datetime] = mapped_column(server_default=func.now())


def newest_first(
    query: Rows,
    model: Any,
    before: tuple[datetime, str] | None,
    limit: int | None = None,
    **equal: str | None,
) -> Rows:
    """Order rows, newest first. They are older than the pair (created_at, id), where one is given.

    Of the columns in ``equal`` those count that have a value.
    """
    for name, value in equal.items():
        if value is not None:
            query = query.where(getattr(model, name) == value)
    # Rows of one moment are told apart by their ids: else a page that ends among them would skip some.
    if before is not None:
        query = query.where(tuple_(model.created_at, model.id) < tuple_(*before))
    return query.order_by(model.created_at.desc(), model.id.desc()).limit(limit)
