"""Which parts of Rayward run in which process on this machine: starting, stopping and finding them again."""
