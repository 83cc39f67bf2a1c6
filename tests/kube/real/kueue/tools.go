//go:build tools

// Package kueue pins Kueue's whole manager by itself: it needs its own versions of client-go and controller-runtime.
package kueue

import _ "sigs.k8s.io/kueue/cmd/kueue"
