"""The broker's process: configuration, memory, the garbage collector, timers, worker threads.

Law: nothing here knows a socket or a data folder. Read ``config.py`` first.
"""
