"""Tests that need the real Kubernetes components, and the scripts that record the specification from them."""
