"""What the service does by itself. Lost work is taken back; there are erasure, figures for monitoring, its
start."""
