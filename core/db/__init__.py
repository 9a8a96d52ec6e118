"""The database edge: engine, sessions, base classes, leases."""
