"""Pods: how they are filled in, admitted, changed, resized and shown."""
