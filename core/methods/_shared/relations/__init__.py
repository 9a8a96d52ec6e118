"""One relation by the degrees of both its sides and by noisy bits of its slots, step by step."""
