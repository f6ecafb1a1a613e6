"""The JSON rows of objects in RabbitMQ's names, and the rates beside them.

Law: a row reads the core's objects and changes nothing. Read ``rendering.py`` first.
"""
