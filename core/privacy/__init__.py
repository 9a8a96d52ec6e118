"""Plan, meter, mechanisms, accountant: the guarantee is computed from what was metered."""
