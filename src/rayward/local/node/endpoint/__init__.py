"""What a kubelet serves over HTTPS: logs, commands in containers, ports of pods. API servers ask here."""
