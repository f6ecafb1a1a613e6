"""A large lot, archived, restored and replayed by processes that are killed again and again.

    python -m interop.archives --broker reference --messages 100000 --kills 20 --seed 7

Messages are made, published, read and compared as octets, by pika and an encoder of this room; the
archives are read as docs/lots.md has them. Nothing here shares code with mqkit but the processes
that it starts, which are ``mqkit dlq``.
"""
