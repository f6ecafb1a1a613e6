"""Lots by the clock: messages go back, and are archived, when their time has come.

Read :mod:`mqkit.lots.clock.due` first: it decides what is done with a message, from the message
alone. There is no state anywhere else.
"""
