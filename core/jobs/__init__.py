"""Jobs: their states, events, metered reads, artifacts and evaluations."""
