"""Deployments, replica sets and stateful sets: what keeps a number of pods."""
