"""The rules of replication as a small random model: one queue, its replicas, one key in etcd.

Whole logs are sent as messages; there is no clock, no cursor and nothing is applied. It is there to
try a rule before it is built, and to see what breaks without it: each rule of ``rules.py`` can be
broken by name.

Law: every member of the in-sync set, and every leader, has each committed operation. Read
``rules.py`` first, then ``replica.py``, then ``model.py``.
"""
