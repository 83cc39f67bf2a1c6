"""Kubernetes without Kubernetes: the store, API server, controllers, node and traffic of a laptop."""
