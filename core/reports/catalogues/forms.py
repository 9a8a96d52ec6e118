"""The closed list of catalogue forms."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any

from core.reports.catalogues.context import Context
from core.reports.catalogues.croissant import croissant
from core.reports.catalogues.dcat import dcat
from core.reports.catalogues.deployments import deployment
from core.reports.catalogues.openlineage import openlineage
from core.reports.model import PublicPart


class Form(StrEnum):
    """A form of metadata that catalogues and registries read."""

    DCAT = "dcat"
    CROISSANT = "croissant"
    OPENLINEAGE = "openlineage"
    DEPLOYMENT = "deployment"


_RENDER: dict[Form, Callable[[PublicPart, Context], dict[str, Any]]] = {
    Form.DCAT: dcat,
    Form.CROISSANT: croissant,
    Form.OPENLINEAGE: openlineage,
    Form.DEPLOYMENT: deployment,
}

MEDIA_TYPES = {
    Form.DCAT: "application/ld+json",
    Form.CROISSANT: "application/ld+json",
    Form.OPENLINEAGE: "application/json",
    Form.DEPLOYMENT: "application/json",
}


def metadata(form: Form, public: PublicPart, context: Context) -> dict[str, Any]:
    """Write the release in that form: JSON values, without NaN."""
    return _RENDER[form](public, context)
