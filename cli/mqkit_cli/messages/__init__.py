"""``mqkit publish``, ``consume`` and ``dlq``: messages in, out, and out of parking lots."""
