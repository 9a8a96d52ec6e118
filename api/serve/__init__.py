"""The processes that serve. They have sockets, connections, the internal port, its probes and metrics."""
