"""What every workflow shares. It has its services, pages of lists, sweeps, and the rules of policies and
schemas."""
