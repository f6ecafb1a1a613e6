"""The broker that is there: its management API, its product and version, and the looks that AMQP
alone allows.

Read ``management.py`` first.
"""
