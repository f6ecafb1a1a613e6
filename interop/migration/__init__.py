"""A queue that is migrated again and again, by a process that is killed at random.

    python -m interop.migration --broker reference --kills 200 --seed 7

Publishers go through an exchange, consumers send some messages to a retry tier that dead-letters
back by name; both speak AMQP by pika. They, the look at the broker and the judgement share no code
with mqkit. The migrations are `mqkit topology migrate`, as a person runs it.
"""
