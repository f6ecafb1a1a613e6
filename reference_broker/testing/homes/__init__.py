"""Homes of queues, for tests of what asks them: one that answers as it is told to, real ones over
links in memory, and a consumer that notes what it gets."""
