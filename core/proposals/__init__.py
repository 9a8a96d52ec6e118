"""Proposals that a second person decides. One person proposes more budget, or a looser policy."""
