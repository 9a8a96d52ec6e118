"""Addresses that receive events. Here is too what was sent to them."""
