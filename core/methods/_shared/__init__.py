"""What two generators or more need. The registry passes over names that begin with an underscore.

A folder for each thing that methods are made of: what they are built in (``frame``), noisy numbers and
degrees fitted to them (``degrees``), graphs of given degrees and block totals (``matching``) and their
rewiring to given triangles and degree products (``rewiring``), communities and the blocks between them
(``blocks``), noisy bits of single pairs (``flips``, ``slots``), a relation by the degrees of both its sides
(``relations``), a graph by its degrees and triangles (``triangles``), what sampled edges carry (``values``);
and two frames that read a raw graph: of methods that hide named links and promise nothing (``defences``), and
of generators of walks without a guarantee (``walks``). A helper moves here with its second user and imports
no method, so that any method can be taken away.
"""
