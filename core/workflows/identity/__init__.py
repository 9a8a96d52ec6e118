"""Who calls: API keys, tokens, and what takes two persons."""
