"""The forms of a report, and their addresses. The service keeps them there."""

from __future__ import annotations

from graphveil.errors import ClientError
from graphveil.names import StrEnum


class ReportForm(StrEnum):
    """One form of a release's report."""

    JSON = "json"
    HTML = "html"
    MARKDOWN = "markdown"
    CARD = "card"
    DCAT = "dcat"
    CROISSANT = "croissant"
    OPENLINEAGE = "openlineage"
    DEPLOYMENT = "deployment"


PATHS = {
    ReportForm.JSON: "report",
    ReportForm.HTML: "report.html",
    ReportForm.MARKDOWN: "report.md",
    ReportForm.CARD: "card.md",
    ReportForm.DCAT: "metadata/dcat",
    ReportForm.CROISSANT: "metadata/croissant",
    ReportForm.OPENLINEAGE: "metadata/openlineage",
    ReportForm.DEPLOYMENT: "metadata/deployment",
}
REPORTS = frozenset({ReportForm.JSON, ReportForm.HTML, ReportForm.MARKDOWN})


def path_of(form: str, *, says: bool) -> str:
    """Return the form's path below its job.

    ClientError for an unknown form, or one without room for a publisher.
    """
    try:
        known = ReportForm(form)
    except ValueError:
        raise ClientError(f"there is no form {form}; use one of {', '.join(ReportForm)}") from None
    if says and known in REPORTS:
        raise ClientError(f"the form {form} says nothing of its publisher; the card and the metadata do")
    return PATHS[known]
