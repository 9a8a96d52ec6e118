"""Live streams: one snapshot after another, each published as a job of its own."""
