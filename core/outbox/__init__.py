"""Messages that leave with the transaction that caused them."""
