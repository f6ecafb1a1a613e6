"""The log: appending, rolling, sealing, reading back, pages, and the free space it asks for.

Law: one order and one sync for all records; a confirm waits for the position that is synced. Read
``log.py`` first.
"""
