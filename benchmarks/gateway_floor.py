"""The least that a gateway could be: bare FastAPI, and one row written by SQLAlchemy.

For :mod:`benchmarks.gateway_peers`: ``uvicorn benchmarks.gateway_floor:app``; the database is the service's.
"""

from __future__ import annotations

import os
import uuid
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel
from sqlalchemy import String, create_engine
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column


class Base(DeclarativeBase):
    """Of the one table."""


class Row(Base):
    """What was asked for."""

    __tablename__ = "benchmark_rows"

    id: Mapped[str] = mapped_column(String(36), primary_key=True)
    asked: Mapped[dict[str, Any]] = mapped_column(JSONB)


class Asked(BaseModel):
    """What a caller sends to ``POST /jobs``, too."""

    dataset_id: str
    epsilon: str


class Made(BaseModel):
    """The row's id."""

    id: str


app = FastAPI()
engine = create_engine(os.environ["GRAPHVEIL_DATABASE_URL"], pool_size=40)
Base.metadata.create_all(engine)


@app.post("/nothing", status_code=202)
def nothing(asked: Asked) -> Made:
    """Answer, in a thread as routes that use the database do."""
    return Made(id=str(uuid.uuid4()))


@app.post("/rows", status_code=202)
def add(asked: Asked) -> Made:
    """Write one row, in a transaction of its own."""
    row = Row(id=str(uuid.uuid4()), asked=asked.model_dump())
    with Session(engine, expire_on_commit=False) as session, session.begin():
        session.add(row)
    return Made(id=row.id)
