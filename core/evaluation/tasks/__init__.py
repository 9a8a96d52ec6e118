"""Tasks: the release's worth to a model. It learns from the release and is tested on the original."""
