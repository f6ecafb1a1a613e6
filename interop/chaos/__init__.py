"""Chaos: an app under faults, and a checker that knows it only by what was written down.

``python -m interop.chaos --broker reference --transport native --seconds 1800 --seed 7``

Three programs, which share no code with mqkit but where it is the subject:

``interop.chaos.application``  the app: publishers, consumers, callers. The only room that imports
                               mqkit's client. Writes a fact before and after each step
``interop.chaos``              starts the broker, a TCP proxy before it and the app, and does what a
                               seeded plan of faults says. Writes the faults, and the confirms and
                               returns that it saw on the wire
``interop.chaos.checker``      reads the facts, takes what is left out of the queues with pika, and
                               holds the laws
"""
