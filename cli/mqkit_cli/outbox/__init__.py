"""``mqkit outbox``: the messages that a database has for the broker."""
