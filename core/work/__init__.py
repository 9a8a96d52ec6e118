"""Leased work. It is claimed by one worker at a time, kept by a heartbeat, handed back, or taken back when
lost."""
