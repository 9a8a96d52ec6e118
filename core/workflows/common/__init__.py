"""What every workflow shares: its services, pages of lists, sweeps, and the rules of policies and schemas."""
