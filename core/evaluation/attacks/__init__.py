"""Attacks on a published graph.

A curator who holds the original runs them.

``run`` runs a suite's attacks. An attack on links is a scorer (the protocol in ``targets``); a new one joins
the list in its file and :func:`core.evaluation.attacks.run.link_attacks`. ``scoring`` turns scores into what
the report says. What an attack finds need not be what one person's link gave away: communities that a release
keeps on purpose also tell which pairs are likely linked.
"""
