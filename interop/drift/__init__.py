"""Changes by hand of more than fifty kinds under an app that watches for drift, and whether it
tells them: in time, by name and field, and nothing else.

The app is a process of its own (``application``). What changes its objects (``hand``) and what
judges (``judge``) shares no code with it: pika, the management API, and names that are spelled out
(``layout``). The kinds and what each connection can see of them are in ``changes``.
"""
