"""What a dataset's upload was declared to hold."""

from __future__ import annotations

from sqlalchemy.orm import Session

from core.datasets import repository as datasets
from core.datasets.models import DatasetVersion
from core.graphs.schema import GraphSchema


def declared_schema(session: Session, version: DatasetVersion) -> GraphSchema:
    """Return the public schema of a version. It is what was declared with it, or else its dataset's."""
    declared = version.graph_schema or datasets.existing(session, version.dataset_id).graph_schema
    return GraphSchema.model_validate(declared)
