"""A format and a metric as whoever adds them writes them: a file each, and nothing else.

As a plug-in of pytest (``-p tests.support.toys``) it puts both beside the project's own before anything is
collected, so that the suite itself says what it thinks of them.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from core.evaluation import utility
from core.graphs import formats

FORMAT, METRIC = "semicolons", "leaf_share"

_FORMAT = '''
"""Edge lists and node lists with semicolons."""

from __future__ import annotations

from typing import ClassVar

from core.graphs.uploads.batches import DelimitedOptions, refuses_none


class SemicolonOptions(DelimitedOptions):
    """As for csv, with a semicolon between fields."""

    usual: ClassVar[str] = ";"


name = "semicolons"
media_type = "text/csv"
extensions = ("ssv",)
carries_nodes = False
parts = frozenset({"edges", "nodes"})
OptionsModel = SemicolonOptions
refuses = refuses_none


def read(request):
    """Read the rows."""
    from core.graphs.formats._delimited import read_delimited

    return read_delimited(request)


def write(graph, path):
    """Write an edge list with a header line."""
    from core.graphs.formats._tables import edge_tables, write_text

    write_text(edge_tables(graph), path, ";")
'''

_METRIC = '''
"""Leaves."""

from __future__ import annotations

import numpy as np

from core.evaluation.metric import Metric

SCALARS = (Metric("leaf_share", "Leaves", "Nodes of one edge / nodes.", "degrees"),)


def scalars(view, suite):
    """Measure the share of nodes that have one edge."""
    return {"leaf_share": float(np.mean(view.degrees == 1)) if view.node_count else None}
'''


def put(folder: Path) -> None:
    """Put both into ``folder``, and that beside the project's own formats and metrics."""
    for package, name, text in ((formats, FORMAT, _FORMAT), (utility, "leaves", _METRIC)):
        own = folder / package.__name__.rpartition(".")[2]
        own.mkdir()
        (own / f"{name}.py").write_text(text.lstrip("\n"), encoding="utf-8")
        package.__path__.append(str(own))


_folder = tempfile.TemporaryDirectory()
put(Path(_folder.name))
