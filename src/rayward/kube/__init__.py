"""Everything that is true of any Kubernetes, and nothing about Ray."""
