"""What published systems share, and the engine does not need."""
