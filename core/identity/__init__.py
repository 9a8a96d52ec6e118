"""Who calls: tenants, API keys, roles."""
