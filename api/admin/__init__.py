"""Commands for the service's host: API keys, and the proof of the ledger."""
