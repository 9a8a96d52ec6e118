"""Families of metrics. A family module offers either or both of

``SCALARS`` and ``scalars(view, suite)``: one number per graph;
``DISTANCES`` and ``distances(original, synthetic, suite)``: one number per pair of graphs, nodes aligned.

Both return a value for every metric of theirs that ``suite`` includes, under its name: a number, None where
it is undefined, or an :class:`~core.evaluation.metric.Estimate` where it was sampled.
"""
