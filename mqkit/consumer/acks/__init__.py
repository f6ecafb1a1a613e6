"""The times of an ack other than after the handler: before it, or when the handler says so."""
