"""What one person proposes and a second person decides: more budget, a looser policy."""
