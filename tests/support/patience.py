"""How long a test waits for what must come: a ceiling for a machine under any load, no measure of speed."""

PATIENCE_SECONDS = 240.0
