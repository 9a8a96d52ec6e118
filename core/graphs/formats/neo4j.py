"""Files for ``neo4j-admin database import``, in one archive. Written only.

A node type has a file of its own, with an id space and label of its name; so has a relation, whose rows name
their ``:TYPE``. A collection's graphs share one file of nodes and one of edges: ``key`` names a node among
all. ``import.txt`` holds the command. An undirected edge stands once, in one of both directions, as Neo4j has
no others: match it without an arrow.
"""

from __future__ import annotations

from core.graphs.formats import _archives
from core.graphs.schema import GraphSchema
from core.graphs.uploads.batches import Part, refuses_names
from core.late import late

name = "neo4j"
media_type = _archives.MEDIA_TYPE
extensions = ("neo4j.zip",)
parts: frozenset[Part] = frozenset()


def refuses(schema: GraphSchema) -> str | None:
    """Say which attribute's name the files use themselves, or None."""
    return refuses_names(schema, name, frozenset({"key"}), frozenset())


write = late("core.graphs.formats._neo4j_tables:write")
