"""``mqkit topology``: validate, plan, apply, diff and export, and how they are shown."""
