"""Admission on a running server: webhooks over HTTPS, quotas."""
