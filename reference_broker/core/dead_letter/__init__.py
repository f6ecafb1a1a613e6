"""Dead letters: the exchange that they go to, and the history that they carry (x-death).

Law: where both queues are in the log, a dead letter and the end of its source are one record of it,
a MOVE, so that a crash neither loses nor doubles it. ``x_death.py`` writes the history of any
message, by decoding it; ``first_death_header.py`` and ``later_death_header.py`` write the same
octets in a time that doesn't grow with the history. Read ``dead_letters.py`` first.
"""
