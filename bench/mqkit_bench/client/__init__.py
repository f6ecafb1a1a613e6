"""``client``: mqkit and other client libraries at the same job, on the same broker."""
