"""Claims get a volume that fits, or a folder of this machine, which goes with them unless it is to be retained."""
