"""Examining a data folder that nobody runs on: check, dump, salvage, repair.

Law: reading changes nothing; a repair says first what it will do. Read ``examination.py`` first.
"""
