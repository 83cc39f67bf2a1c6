"""Role-based access control: who may do what, decided as kube-apiserver decides it from stored roles and bindings."""
