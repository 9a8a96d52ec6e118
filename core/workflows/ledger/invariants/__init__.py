"""What must hold at every moment across ledger, jobs, datasets and streams: one small class a promise."""
