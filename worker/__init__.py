"""The worker. It takes work off the doorbell, runs generators in child processes, publishes what they
make."""
