"""``mqkit cluster``: several brokers that are one, for trying."""
