"""The shell around the core: sockets, timers, and the thread that writes to the disk."""
