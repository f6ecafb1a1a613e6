"""The sockets of a node's links. Imported only by a node of a cluster."""
