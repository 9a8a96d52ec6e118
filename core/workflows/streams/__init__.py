"""Live streams: their snapshots, plans, requests and reports."""
