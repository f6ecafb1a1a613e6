"""The blocking adapter over pika's ``SelectConnection``, which runs on a thread of its own.

Read ``adapter.py`` first.
"""
