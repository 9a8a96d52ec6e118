"""How a request is taken and answered. Here are who calls, limits, bodies, problems, streamed answers."""
