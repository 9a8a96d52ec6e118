"""What two generators or more need. The registry passes over names that begin with an underscore.

Here stand: the division of epsilon over cells (``plan``), parameters in presets (``presets``), the frame of
methods that treat every cell by itself (``percell``) with their stored model (``model``), noisy numbers made
consistent and whole (``counts``), pairs of nodes as integers (``pairs``, ``keyset``), degrees fitted to noisy
ones (``degrees``, ``posterior``), graphs of given degrees (``matching``, ``placing``), and their rewiring to
given triangles and degree products (``rewiring``, ``moves``, ``products``); the frame of methods that hide
named links and promise nothing (``defence``), which alone reads a raw graph, with its model (``altered``) and
random pairs without a link (``absent``). A helper moves here with its second user, reads public facts and
noisy values only (``counts.noisy_count`` alone pays), and imports no method but PSGraph's parts, which others
build on.
"""
