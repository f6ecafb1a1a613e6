"""Dead letters: the exchange that they go to, and the history that they carry (x-death).

Law: where both queues are in the log, a dead letter and the end of its source are one record of it,
a MOVE, so that a crash neither loses nor doubles it. ``x_death.py`` writes the history of any
message; ``first_death_header.py`` writes the same octets faster for a message that dies for the
first time. Read ``dead_letters.py`` first.
"""
