"""The processes that serve: sockets, connections, the internal port, its probes and metrics."""
