"""What the service does by itself: lost work taken back, erasure, figures for monitoring, its start."""
