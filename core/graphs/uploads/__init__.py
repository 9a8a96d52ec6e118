"""Uploaded files as raw batches of rows, and the findings on them."""
