"""AMQP methods, one module per class: check the arguments, then ask the channel or the vhost.

Law: a function here is one method and keeps no state. Read ``queue.py`` first.
"""
