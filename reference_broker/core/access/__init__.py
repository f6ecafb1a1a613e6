"""Users and their rights: mechanisms, passwords, permissions, login attempts.

Law: a question in, an answer out; each AMQP method asks in ``vhost/method_access.py``. Read
``access_control.py`` first.
"""
