"""A Kubernetes of this machine alone: the store, API server, controllers, node and traffic of a laptop."""
