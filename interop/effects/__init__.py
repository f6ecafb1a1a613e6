"""Orders through outbox, broker and inbox, while all of these are killed at random.

    python -m interop.effects --orders 100000 --seconds 600 --broker rabbitmq
    python -m interop.effects --orders 5000 --seconds 60 --without-inbox     # shows duplicates

A producer writes orders to PostgreSQL, each with a row of the outbox; two relays publish them; a
consumer writes an effect for each, and the inbox its key. Relays, consumer, broker and database are
killed by a seed. The judgement shares no code with mqkit: it reads the two tables by the driver.
"""
