//go:build tools

// Package helm pins helm by itself: it needs its own versions of client-go and kubectl.
package helm

import _ "helm.sh/helm/v3/cmd/helm"
