"""The link between two nodes: bytes in, bytes out, and messages in lanes between. No socket here.

Read :mod:`link` first, then :mod:`lane` for what each lane is for, and :mod:`frame` for the bytes.
The law of the room: *a receiver always reads*. A lane that has no credit waits at its sender,
alone.
"""
