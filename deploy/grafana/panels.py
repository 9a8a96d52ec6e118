"""The parts of a dashboard: panels with their queries, laid out in rows, and the page around them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

PROMETHEUS = {"type": "prometheus", "uid": "graphveil-prometheus"}
LEDGER = {"type": "grafana-postgresql-datasource", "uid": "graphveil-ledger"}
COLUMNS = 24
SCHEMA_VERSION = 39

RED, ORANGE, GREEN = "red", "orange", "green"
ALARMING = ((None, GREEN), (1, RED))
"""Any is too many."""


WHO = "{{name}} ({{account}})"
"""The legend of an account: an id tells nobody whose budget it is."""


def named(query: str) -> str:
    """The same figures by account, with the name of each account beside its id."""
    return f"({query}) * on (account) group_left (name) max by (account, name) (graphveil_account_info)"


@dataclass(frozen=True)
class Panel:
    """One panel. ``queries``: PromQL and legend; ``sql`` instead, for the ledger's view. Width in columns."""

    title: str
    kind: str
    queries: tuple[tuple[str, str], ...] = ()
    sql: str = ""
    unit: str = "short"
    width: int = 8
    height: int = 8
    about: str = ""
    steps: tuple[tuple[float | None, str], ...] = ((None, GREEN),)
    empty: str = ""
    repeat: str = ""
    text: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    custom: dict[str, Any] = field(default_factory=dict)
    overrides: tuple[dict[str, Any], ...] = ()
    extra: dict[str, Any] = field(default_factory=dict)


def lines(title: str, *queries: tuple[str, str], **more: Any) -> Panel:
    """Figures over time."""
    options = {
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
        "tooltip": {"mode": "multi", "sort": "desc"},
    }
    custom = {
        "drawStyle": "line",
        "fillOpacity": 8,
        "lineWidth": 1,
        "showPoints": "never",
        "spanNulls": False,
    }
    custom |= more.pop("custom", {})
    return Panel(title, "timeseries", queries, options=options, custom=custom, **more)


def figure(title: str, query: str, legend: str = "", **more: Any) -> Panel:
    """One figure now, or one for each series."""
    options = {"reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
               "colorMode": "background", "graphMode": "none", "textMode": "auto"}  # fmt: skip
    more = {"width": 4, "height": 4} | more
    return Panel(title, "stat", ((query, legend),), options=options, **more)


def bars(title: str, query: str, legend: str, **more: Any) -> Panel:
    """One bar for each series."""
    options = {"reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
               "displayMode": "basic", "orientation": "horizontal", "showUnfilled": True}  # fmt: skip
    return Panel(title, "bargauge", ((query, legend),), options=options, **more)


def table(title: str, query: str = "", sql: str = "", **more: Any) -> Panel:
    """Rows: of a query's series now, or of the ledger's view."""
    options = {"showHeader": True, "cellHeight": "sm"}
    return Panel(title, "table", ((query, ""),) if query else (), sql=sql, options=options, **more)


def note(text: str, **more: Any) -> Panel:
    """A sentence for whoever looks."""
    return Panel("", "text", text=text, **{"width": 24, "height": 3} | more)


def override(name: str, **properties: Any) -> dict[str, Any]:
    """Another look of the series of that name."""
    found = [{"id": key.replace("__", "."), "value": value} for key, value in properties.items()]
    return {"matcher": {"id": "byName", "options": name}, "properties": found}


def dashboard(
    uid: str,
    title: str,
    about: str,
    panels: Sequence[Panel],
    variables: Iterable[dict[str, Any]] = (),
    annotations: Iterable[dict[str, Any]] = (),
    since: str = "now-24h",
) -> dict[str, Any]:
    """The page in Grafana's own form."""
    return {
        "uid": uid,
        "title": title,
        "description": about,
        "tags": ["graphveil"],
        "schemaVersion": SCHEMA_VERSION,
        "editable": False,
        "graphTooltip": 1,
        "refresh": "1m",
        "time": {"from": since, "to": "now"},
        "timezone": "browser",
        "templating": {"list": list(variables)},
        "annotations": {"list": list(annotations)},
        "links": [
            {"type": "dashboards", "tags": ["graphveil"], "title": "Graphveil", "asDropdown": True,
             "includeVars": False, "keepTime": True, "targetBlank": False, "icon": "external link", "url": ""}
        ],
        "panels": [_panel(number, place, panel) for number, (place, panel) in enumerate(_laid(panels), 1)],
    }  # fmt: skip


def variable(name: str, query: str, *, multi: bool, all_value: bool, regex: str = "") -> dict[str, Any]:
    """A choice among a label's values; with ``regex``, among those that it finds, shown by their text."""
    return {
        "name": name, "label": name.capitalize(), "type": "query", "datasource": PROMETHEUS,
        "definition": query, "query": {"query": query, "refId": name}, "refresh": 2, "sort": 1,
        **({"regex": regex} if regex else {}),
        "multi": multi, "includeAll": all_value, **({"allValue": ".*"} if all_value else {}),
        "current": {"text": ["All"], "value": ["$__all"]} if all_value else {},
    }  # fmt: skip


def _laid(panels: Sequence[Panel]) -> Iterable[tuple[dict[str, int], Panel]]:
    """Left to right, a new row where one is full."""
    x = y = tallest = 0
    for panel in panels:
        if x + panel.width > COLUMNS:
            x, y, tallest = 0, y + tallest, 0
        yield {"x": x, "y": y, "w": panel.width, "h": panel.height}, panel
        x, tallest = x + panel.width, max(tallest, panel.height)


def _panel(number: int, place: dict[str, int], panel: Panel) -> dict[str, Any]:
    found: dict[str, Any] = {"id": number, "type": panel.kind, "title": panel.title, "gridPos": place}
    if panel.kind == "text":
        return found | {"options": {"mode": "markdown", "content": panel.text}, "transparent": True}
    steps = [{"value": value, "color": color} for value, color in panel.steps]
    defaults: dict[str, Any] = {
        "unit": panel.unit,
        "custom": panel.custom,
        "color": {"mode": "palette-classic" if panel.kind == "timeseries" else "thresholds"},
        "thresholds": {"mode": "absolute", "steps": steps},
    }
    if panel.empty:
        defaults["noValue"] = panel.empty
    found |= {
        "description": panel.about,
        "datasource": LEDGER if panel.sql else PROMETHEUS,
        "targets": _targets(panel),
        "fieldConfig": {"defaults": defaults, "overrides": list(panel.overrides)},
        "options": panel.options,
    }
    if panel.repeat:
        found |= {"repeat": panel.repeat, "repeatDirection": "h", "maxPerRow": 2}
    return found | panel.extra


def _targets(panel: Panel) -> list[dict[str, Any]]:
    if panel.sql:
        return [{"refId": "A", "datasource": LEDGER, "editorMode": "code", "format": "table",
                 "rawQuery": True, "rawSql": panel.sql}]  # fmt: skip
    now = panel.kind != "timeseries"
    shape = {"format": "table" if panel.kind == "table" else "time_series", "instant": now, "range": not now}
    return [
        {"refId": chr(ord("A") + place), "datasource": PROMETHEUS, "editorMode": "code", "expr": query,
         "legendFormat": legend or "__auto", **shape}
        for place, (query, legend) in enumerate(panel.queries)
    ]  # fmt: skip
