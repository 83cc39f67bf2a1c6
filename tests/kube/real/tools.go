//go:build tools

// Package tools names the real components that the tests run, so that go.mod pins them.
package tools

import (
	_ "go.etcd.io/etcd/server/v3"
	_ "k8s.io/kubectl/pkg/cmd"
	_ "k8s.io/kubernetes/cmd/kube-apiserver/app"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager/app"
)
