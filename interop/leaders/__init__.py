"""Three processes that run the same lots, whose leader is killed again and again.

    python -m interop.leaders --broker reference --kills 10 --seed 7

A worker that fails everything, and the judgement, share no code with mqkit: they speak AMQP by
pika, and read headers and archives as the documentation has them.
"""
