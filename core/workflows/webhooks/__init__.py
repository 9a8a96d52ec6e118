"""Webhooks: endpoints, what is announced to them, and deliveries."""
