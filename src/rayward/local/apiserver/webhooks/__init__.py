"""Admission webhooks: which ones concern a request, what they are asked, and what their answer means."""
