"""Suites that need real Ray (make test-ray)."""
