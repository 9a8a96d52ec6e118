"""The budget ledger: integer amounts, append-only entries, one terminal entry per reservation."""
