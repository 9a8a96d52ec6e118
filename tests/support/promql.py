"""Dashboards and rules as lists of expressions, and the metrics that they name."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import promql_parser
import yaml

ROOT = Path(__file__).resolve().parents[2]
RULES = sorted((ROOT / "deploy" / "prometheus" / "rules").glob("*.yml"))
DASHBOARDS = sorted((ROOT / "deploy" / "grafana" / "dashboards").glob("*.json"))

# What Grafana puts in for its variables; any value of the same form would do.
SUBSTITUTES = {"$__rate_interval": "5m", "$account": ".*", "$unit": ".*"}


@dataclass(frozen=True)
class Expression:
    """One PromQL expression, and where it stands."""

    place: str
    text: str


def rules() -> list[dict[str, Any]]:
    """Every rule of every file."""
    documents = [yaml.safe_load(file.read_text()) for file in RULES]
    return [rule for document in documents for group in document["groups"] for rule in group["rules"]]


def dashboards() -> list[dict[str, Any]]:
    """Every dashboard as its file has it."""
    return [json.loads(file.read_text()) for file in DASHBOARDS]


def expressions() -> Iterator[Expression]:
    """Those of every rule, panel and variable, with Grafana's variables filled in."""
    for rule in rules():
        yield Expression(rule.get("alert") or rule["record"], rule["expr"])
    for board in dashboards():
        for panel in board["panels"]:
            for target in panel.get("targets", ()):
                if "expr" in target:
                    yield Expression(f"{board['uid']}: {panel['title']}", filled(target["expr"]))


def filled(text: str) -> str:
    """The expression as Prometheus gets it."""
    for name, value in SUBSTITUTES.items():
        text = text.replace(name, value)
    return text


def selectors(text: str) -> list[promql_parser.VectorSelector]:
    """Every selector of series in an expression. ValueError where it is none."""
    found: list[promql_parser.VectorSelector] = []

    def visit(node: object) -> bool:
        if isinstance(node, promql_parser.VectorSelector):
            found.append(node)
        elif isinstance(node, promql_parser.MatrixSelector):
            found.append(node.vector_selector)
        return True

    promql_parser.walk(promql_parser.parse(text), visit)
    return found
