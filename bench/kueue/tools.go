//go:build tools

// Package kueue pins Kueue's own benchmark: what drives a manager, and the manager that it was written for.
package kueue

import (
	_ "sigs.k8s.io/kueue/test/performance/scheduler/minimalkueue"
	_ "sigs.k8s.io/kueue/test/performance/scheduler/runner"
)
