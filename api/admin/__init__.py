"""Commands for the service's host. They are for API keys, and the proof of the ledger."""
