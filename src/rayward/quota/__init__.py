"""Who may run now: Workloads of kueue.x-k8s.io, and whoever admits them."""
