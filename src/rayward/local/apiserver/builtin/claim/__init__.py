"""What kube-apiserver fills in, refuses and shows of PersistentVolumeClaims."""
