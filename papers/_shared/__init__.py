"""What several published systems stand on, and the engine does not."""
