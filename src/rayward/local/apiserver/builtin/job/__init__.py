"""Jobs: how they are filled in, checked and shown."""
