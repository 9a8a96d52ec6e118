"""Randomised response on all slots, and a swap chain. The chain follows the response on a cell."""
