"""Jobs: prepared, submitted, approved, cancelled, listed, and whose turn it is."""
