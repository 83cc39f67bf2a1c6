"""Which node runs a pod. Pure; the loop is ``scheduler``."""
