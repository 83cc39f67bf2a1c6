"""Jobs: pods that run to their end, each counted once."""
