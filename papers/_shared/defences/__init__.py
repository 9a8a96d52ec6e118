"""Methods that hide named links and promise nothing. Their frame, and only theirs, reads a raw graph."""
