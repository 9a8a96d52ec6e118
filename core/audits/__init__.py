"""Audits that callers ask for: leased work without a dataset and without a budget."""
