"""The frame of methods that hide named links and promise nothing, which alone reads a raw graph."""
