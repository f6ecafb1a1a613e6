"""A day's waits in a moment: five retry tiers, a time to live, a delayed message and the timeout of
a handler, by the virtual clock, again and again, through mqkit, aio-pika and pika.

    python -m interop.virtual_time --client pika --times 1000

Each client's program declares, publishes and retries by its own means, and writes down at which
second by the clock something happened. Every round has to be the same, second for second.
"""
