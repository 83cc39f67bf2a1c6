"""Claims get a folder of this machine, and lose it when they are deleted."""
