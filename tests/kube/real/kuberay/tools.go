//go:build tools

// Package kuberay pins KubeRay's operator by itself: it needs an older client-go than Kubernetes 1.36.
package kuberay

import _ "github.com/ray-project/kuberay/ray-operator"
