"""MatrixMarket coordinate files (NIST): the adjacency matrix of one static relation."""

from __future__ import annotations

from core.graphs.formats import _matrices
from core.graphs.uploads.batches import Part
from core.late import late

name = "matrix_market"
media_type = "text/x-matrix-market"
extensions = ("mtx", "mtx.gz")
carries_nodes = False
parts: frozenset[Part] = frozenset({"edges"})
OptionsModel = _matrices.MatrixOptions
refuses = _matrices.refuses
read = late("core.graphs.formats._matrix_market_lines:read")
write = late("core.graphs.formats._matrix_market_lines:write")
