"""A model of etcd, behind the port :mod:`reference_broker.cluster.coordinator`: the store itself is
exact, and all that stands between it and a node is slow, lossy and drawn from a seed.

Law: :class:`store.EtcdStore` answers as etcd 3.4 does, operation by operation; a test compares the
two. Whoever is told something by a watch is told a prefix of the store's history. Read ``store.py``
first, then ``model.py``.
"""
