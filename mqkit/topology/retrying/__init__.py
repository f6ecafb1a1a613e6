"""Rules for the queues that retry policies add, beside those that the file declares itself."""
