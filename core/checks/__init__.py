"""What the verifier found when it last looked at each invariant."""
