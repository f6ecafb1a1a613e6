"""``mqkit dlq``: parking lots."""
