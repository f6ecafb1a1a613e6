"""One HTTP request: body, login, rights, name filter, the gate to the core, and the answer.

Law: nothing here knows which object is asked for. Read ``answer.py`` and ``authorization.py``
first.
"""
