"""OpenTelemetry spans over api, relay and worker. Off unless the settings say where they go."""
