"""Plans, events, meters and guarantees: what is promised and what is spent."""
