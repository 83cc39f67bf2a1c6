"""The operator: makes RayClusters, RayServices, RayJobs and RayCronJobs true, through the Kubernetes API alone."""
