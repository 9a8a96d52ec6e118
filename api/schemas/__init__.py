"""What callers send, and problems. What they are answered are the read models of core (`core/*/views.py`)."""
