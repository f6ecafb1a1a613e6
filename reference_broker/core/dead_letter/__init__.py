"""Dead letters: the exchange that they go to, and the history that they carry (x-death).

Law: a dead letter is a publish followed by an ack of the source, and one atomic MOVE where both
queues are local. Read ``dead_letters.py`` first.
"""
