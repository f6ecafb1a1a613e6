"""The rate limit of a queue: handlers begin at most so often."""
