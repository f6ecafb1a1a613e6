"""The broker's process: memory, the garbage collector, timers, log lines, worker threads, and
the pace and the end of a turn.

Law: nothing here knows a socket or a data folder. Read ``worker.py`` first.
"""
