"""Deployments, replica sets and stateful sets: what keeps pods running, as kube-controller-manager does it."""
