"""Clients with messages in a simulated cluster: publishers and consumers that hop over its nodes, a
model of what was sent and seen, and the laws that it is held against."""
