"""Two clients that do anything, right or wrong, and a ledger that knows what has to come of it."""
