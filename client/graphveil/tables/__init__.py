"""Tables in, tables out: a relational database is a typed graph, and is released as one.

:mod:`.mapping` says what tables are, :mod:`.layout` which is a node type and which a relation, :mod:`.graph`
writes the graph, :mod:`.back` reads a released one as tables. What draws is the graph's own engine.
"""
