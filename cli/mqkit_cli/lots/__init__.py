"""``mqkit lots``: parking lots by the clock."""
