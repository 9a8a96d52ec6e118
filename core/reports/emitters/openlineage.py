"""OpenLineage over its HTTP transport. It sends the run event of the release, as Marquez and others receive
it.

Source: OpenLineage specification 2-0-2; the path is the transport's default endpoint.
"""

from __future__ import annotations

from core.reports.catalogues.context import Context
from core.reports.catalogues.openlineage import EVENT, openlineage
from core.reports.model import PublicPart
from core.reports.pushes import Call, Calls, budget

PATH = "/api/v1/lineage"


def calls(public: PublicPart, context: Context) -> Calls:
    """Post the event that ``metadata/openlineage`` shows. The original's budget is a facet of its input."""
    event = openlineage(public, context)
    base = {"_producer": context.base_url, "_schemaURL": EVENT + "DatasetFacet"}
    for read in event["inputs"]:
        read["facets"]["graphveil_budget"] = {**base, **budget(public)}
    yield Call("POST", PATH, event)
