"""What the private servers of tests have in common: ports that are free, and a process that can be
signalled and ended."""
