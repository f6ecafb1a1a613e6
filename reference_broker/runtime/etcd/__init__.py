"""The client of etcd, over its HTTP gateway. Imported only by a node of a cluster."""
