"""The time grid of a w-event account. All of its datasets share it, for its spend is kept by step.

Under another start or width the same number of a step would mean another time, and changes within one window
of time would be looked for in two. The number of steps may differ.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.orm import Session

from core.datasets import repository
from core.datasets.models import Dataset, DatasetState
from core.db.base import ROW_LOCK
from core.errors import Conflict
from core.graphs.schema import GraphSchema
from core.ledger.models import BudgetAccount
from core.privacy.units import Unit


@dataclass(frozen=True)
class Grid:
    """The times that a step covers. Step t is start + t * width <= time < start + (t + 1) * width."""

    start: int
    width: int

    def __str__(self) -> str:
        return f"start {self.start}, width {self.width}"


def grid_of(account: BudgetAccount, schema: GraphSchema | None) -> Grid | None:
    """Find the grid of a dataset's account. By it the account keeps what such a dataset spends; None where it
    keeps no steps."""
    if account.unit != Unit.W_EVENT or schema is None or schema.time is None:
        return None
    return Grid(schema.time.start, schema.time.width)


def standing_grid(session: Session, account: BudgetAccount, *, but: str | None = None) -> Grid | None:
    """Find the grid of the account's datasets. One of them is left out, ``but``; None where none of the
    others has declared one.

    The account stays locked until the transaction ends, so that two datasets cannot miss each other. What was
    archived before it had a ready version spent nothing, and does not count.
    """
    if account.unit != Unit.W_EVENT:
        return None
    session.refresh(account, with_for_update=ROW_LOCK)
    # The first says it for all: none was let in with another grid.
    for dataset in repository.of_account(session, account.id):
        if dataset.id != but and dataset.graph_schema is not None and counts(session, dataset):
            return grid_of(account, GraphSchema.model_validate(dataset.graph_schema))
    return None


def check_grid(
    session: Session, account: BudgetAccount, schema: GraphSchema | None, *, but: str | None = None
) -> None:
    """Check that the schema's grid is the account's. It may be, or the account has none; Conflict, naming the
    account's, otherwise."""
    grid = grid_of(account, schema)
    if grid is None:
        return
    standing = standing_grid(session, account, but=but)
    if standing not in (None, grid):
        raise Conflict(
            f"the protection domain {account.domain!r} keeps its budget by time step, on the grid with "
            f"{standing}; declare that one instead of {grid}",
            field="graph_schema.time",
        )


def counts(session: Session, dataset: Dataset) -> bool:
    """Tell whether the dataset spends, or may: what was archived before it had a ready version did not."""
    if dataset.state != DatasetState.ARCHIVED:
        return True
    return any(version.graph_schema is not None for version in repository.versions(session, [dataset.id]))
