"""Budgets of accounts. They have grants, quotas, adjustments, proofs of the ledger, and proposals that two
persons decide."""
