"""What the read models of all nouns share. They import only pydantic, so that the client has them too."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

EXPOSED = (
    "True once a job without a guarantee has opened a graph of the dataset's account: no epsilon can be "
    "claimed for the dataset as a whole any more, whatever single releases promise."
)
CHOSEN = "Why auto chose the method, from public facts; null where the request names it."
CURATORS = "Curators only; null for others."

NextCursor = Annotated[
    str | None, Field(description="Send it as `cursor` for the next page; null on the last.")
]


class Answer(BaseModel):
    """Base of every read model: built once, in core, and answered as it is. Never changed."""

    model_config = ConfigDict(frozen=True)
