"""Consuming in batches: an outcome for each message, one multiple ack for the finished prefix."""
