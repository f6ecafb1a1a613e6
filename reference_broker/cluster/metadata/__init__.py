"""The cluster's metadata at one node: the view of what etcd has, the feed that keeps it, proposals
of changes, and the barrier that tells when every live node has seen one."""
