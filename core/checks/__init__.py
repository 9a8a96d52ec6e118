"""What the verifier reported when it last read each invariant."""
