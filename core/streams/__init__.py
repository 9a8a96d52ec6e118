"""Live streams, one snapshot after another. Each is published as a job of its own."""
