"""Audits that callers request. They are leased work without a dataset and without a budget."""
