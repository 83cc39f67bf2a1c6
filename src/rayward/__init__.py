"""Rayward runs Ray on Kubernetes, and changes it safely."""
