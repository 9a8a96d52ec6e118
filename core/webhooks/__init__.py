"""Addresses that are told when something happened, and what was sent to them."""
