"""The broker's process: memory, the garbage collector, timers, log lines, and worker threads.

Law: nothing here knows a socket or a data folder. Read ``worker.py`` first.
"""
