"""The ends of a consumer by which it is seen: who is told of its changes, and what measures its
handler."""
