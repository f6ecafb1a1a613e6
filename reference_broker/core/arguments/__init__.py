"""The x-arguments of a declaration: what they may say, and when two declarations are equivalent.

Law: a value in, a value or a refusal out; nothing here knows a queue that exists. Read
``queue_arguments.py`` first.
"""
