"""Serves :mod:`graphveil.assistant.tools` over standard input and output."""

from __future__ import annotations

import functools
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from graphveil.assistant.tools import Tools
from graphveil.errors import ClientError
from graphveil.sdk.client import Graphveil
from graphveil.sources.libraries import library

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

LOOKS = (
    "list_datasets",
    "budget",
    "list_methods",
    "describe_method",
    "plan",
    "menu",
    "progress",
    "public_report",
)
"""The tools that spend nothing."""

INSTRUCTIONS = """\
Graphveil publishes synthetic graphs of sensitive ones under differential privacy. Epsilon is privacy budget:
it is spent by releases and never comes back. Plan and compare first (plan, menu), and submit only what the
person you work for has agreed to. You see what anybody may know of a release; what compares it with the
original is for the dataset's curators, and you are not told it.
"""


def server_of(service: Graphveil, *, spend: str = "0") -> MCPServer[Any]:
    """Make the server. Without ``spend`` it has no tool that submits; ClientError for what is no amount."""
    protocol = library("mcp.server.mcpserver", "mcp")
    types = library("mcp.types", "mcp")
    tools = Tools(service, _amount(spend))
    server: MCPServer[Any] = protocol.MCPServer(
        "graphveil", title="Graphveil", instructions=INSTRUCTIONS, log_level="WARNING"
    )
    failure = library("mcp.server.mcpserver.exceptions", "mcp").ToolError
    for name in LOOKS:
        server.add_tool(
            _refusing(getattr(tools, name), failure),
            annotations=types.ToolAnnotations(read_only_hint=True, open_world_hint=False),
        )
    if _amount(spend) > 0:
        server.add_tool(
            _refusing(tools.submit, failure),
            annotations=types.ToolAnnotations(
                read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False
            ),
        )
    return server


def serve(service: Graphveil, *, spend: str = "0") -> None:
    """Answer one assistant until its end of the pipe closes."""
    server_of(service, spend=spend).run("stdio")


def _refusing(tool: Callable[..., Any], failure: type[Exception]) -> Callable[..., Any]:
    """The tool, whose refusals the assistant reads; what else fails tells it nothing but that it failed."""

    @functools.wraps(tool)
    def called(*given: Any, **named: Any) -> Any:
        try:
            return tool(*given, **named)
        except ClientError as error:
            raise failure(str(error)) from None

    return called


def _amount(text: str) -> Decimal:
    try:
        amount = Decimal(text)
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or amount < 0:
        raise ClientError(f"{text!r} is no amount of epsilon; 0.5 is one")
    return amount
