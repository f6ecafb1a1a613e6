"""The queues that retry policies add, beside those that the file declares itself: rules of meaning."""
