"""How a request is taken and answered: who calls, limits, bodies, problems, streamed answers."""
