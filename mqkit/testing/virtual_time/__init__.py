"""Time as a test moves it: for the broker in its process, and for the apps that have its clock.

clock      the clock: what waits by it, and moving it
alarms     what waits, of all threads and event loops
advance    from one moment at which something is due to the next
settling   when all that was due is delivered and settled
ports      the broker, as far as a clock has to know it
"""
