"""The operator: makes RayClusters and RayServices true, through the Kubernetes API alone."""
