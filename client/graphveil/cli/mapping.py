"""Options that describe a file's columns and dialect. A person gives them to the commands that send one."""

from __future__ import annotations

from typing import Annotated

import typer

Columns = Annotated[
    str | None,
    typer.Option(
        help="What columns are, by name or number: source=caller,target=callee,time=when,value=seconds. "
        "Or in order: source,target,-,time.",
        show_default=False,
    ),
]
Delimiter = Annotated[str | None, typer.Option(help="One character, ::, tab or space.", show_default=False)]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header", help="Whether the first record names the columns.", show_default=False
    ),
]
Decimal = Annotated[str | None, typer.Option(help="The decimal mark: . or ,", show_default=False)]
Encoding = Annotated[str | None, typer.Option(help="utf-8, utf-16, latin-1, ...", show_default=False)]
Bipartite = Annotated[
    bool | None,
    typer.Option(
        "--bipartite/--one-sort", help="Whether the ends are two sorts of nodes.", show_default=False
    ),
]
Dates = Annotated[
    str | None, typer.Option(help="What stands first in dates: dmy, mdy or ymd.", show_default=False)
]


def said(**options: str | bool | None) -> dict[str, str]:
    """Collect what was given, as the service takes it. What was not is left out."""
    return {
        name: str(value).lower() if isinstance(value, bool) else value
        for name, value in options.items()
        if value is not None
    }
