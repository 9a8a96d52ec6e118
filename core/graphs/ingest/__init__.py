"""From raw batches to canonical graphs, with the proposal of a schema."""
