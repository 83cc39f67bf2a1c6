"""The files of /etc that a pod has of its own. Pure."""

from __future__ import annotations

from typing import Final

from rayward.kube.machinery.jsonvalue import Object, entries, section

DOMAIN: Final = "cluster.local"
DNS_ADDRESS: Final = "10.43.0.10"
"""Where names of services are answered for pods."""
_LONGEST_HOSTNAME: Final = 63


def hostname(pod: Object) -> str:
    """What a pod calls itself."""
    named = pod["spec"].get("hostnameOverride") or pod["spec"].get("hostname") or pod["metadata"]["name"]
    return named[:_LONGEST_HOSTNAME].rstrip("-.")


def hosts(pod: Object, address: str) -> str:
    """/etc/hosts."""
    name, spec = hostname(pod), pod["spec"]
    lines = [
        "# Kubernetes-managed hosts file.",
        "127.0.0.1\tlocalhost",
        "::1\tlocalhost ip6-localhost ip6-loopback",
        "fe00::0\tip6-localnet",
        "fe00::0\tip6-mcastprefix",
        "fe00::1\tip6-allnodes",
        "fe00::2\tip6-allrouters",
    ]
    if spec.get("subdomain"):
        full = f"{name}.{spec['subdomain']}.{pod['metadata']['namespace']}.svc.{DOMAIN}"
        lines.append(f"{address}\t{full}\t{name}")
    else:
        lines.append(f"{address}\t{name}")
    aliases = entries(spec, "hostAliases")
    if aliases:
        lines += ["", "# Entries added by HostAliases."]
        lines += [f"{alias['ip']}\t" + "\t".join(entries(alias, "hostnames")) for alias in aliases]
    return "\n".join(lines) + "\n"


def resolv_conf(pod: Object, of_host: str) -> str:
    """/etc/resolv.conf; ``of_host`` is the machine's own."""
    spec, config = pod["spec"], section(pod["spec"], "dnsConfig")
    policy = spec.get("dnsPolicy") or "ClusterFirst"
    host_only = policy == "Default" or (policy == "ClusterFirst" and spec.get("hostNetwork"))
    servers: list[str] = []
    search: list[str] = []
    options: list[str] = []
    if host_only:
        for line in of_host.splitlines():
            key, *values = line.split() or [""]
            {"nameserver": servers, "search": search, "options": options}.get(key, []).extend(values)
    elif policy != "None":
        namespace = pod["metadata"]["namespace"]
        servers = [DNS_ADDRESS]
        search = [f"{namespace}.svc.{DOMAIN}", f"svc.{DOMAIN}", DOMAIN]
        options = ["ndots:5"]
    servers += entries(config, "nameservers")
    search += entries(config, "searches")
    for option in entries(config, "options"):
        name = option["name"]
        options = [one for one in options if one.partition(":")[0] != name]
        options.append(f"{name}:{option['value']}" if option.get("value") else name)
    lines = [f"search {' '.join(dict.fromkeys(search))}"] if search else []
    lines += [f"nameserver {server}" for server in dict.fromkeys(servers)]
    if options:
        lines.append(f"options {' '.join(options)}")
    return "\n".join(lines) + "\n"
