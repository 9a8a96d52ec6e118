"""NPZ as ``scipy.sparse.save_npz`` writes it. It has the adjacency matrix of one static relation."""

from __future__ import annotations

from core.graphs.formats import _matrices
from core.graphs.uploads.batches import Part
from core.late import late

name = "npz"
media_type = "application/zip"
extensions = ("npz",)
carries_nodes = False
parts: frozenset[Part] = frozenset({"edges"})
OptionsModel = _matrices.MatrixOptions
refuses = _matrices.refuses
read = late("core.graphs.formats._npz_entries:read")
write = late("core.graphs.formats._npz_entries:write")
