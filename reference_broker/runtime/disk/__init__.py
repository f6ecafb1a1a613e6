"""The data folder, and the threads that write, sync, read and rewrite it.

Law: an operation of the store is carried out here and its end is an input of the core. Read
``journal_driver.py`` first.
"""
