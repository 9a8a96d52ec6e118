"""What the auditor found when it last looked at each invariant."""
