"""Egress of the pods: an HTTP proxy that listens in their network and connects from outside it."""
