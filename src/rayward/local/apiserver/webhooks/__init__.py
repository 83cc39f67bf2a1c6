"""Admission webhooks: which ones concern a request, what they are asked, and what their answer means."""

from rayward.local.apiserver.webhooks.dispatch import HttpWebhooks

__all__ = ["HttpWebhooks"]
