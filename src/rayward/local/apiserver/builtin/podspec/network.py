"""Names, DNS and host namespaces of a pod."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rayward.kube.machinery.fielderror import forbidden, invalid, required, too_long
from rayward.local.apiserver.builtin.address import legacy_ip
from rayward.local.apiserver.builtin.check import Errors, dns_subdomain, fits
from rayward.local.apiserver.builtin.empty import NO_ITEMS
from rayward.local.apiserver.builtin.formats import search_domain
from rayward.local.apiserver.builtin.podspec.paths import containers_of

Spec = Mapping[str, Any]

_SERVERS, _SEARCHES, _SEARCH_CHARACTERS = 3, 32, 2048


def check_dns_config(spec: Spec, at: str, out: Errors) -> None:
    """Name servers and search domains of the pod's own."""
    config = spec.get("dnsConfig")
    if spec.get("dnsPolicy") == "None":
        if config is None:
            out.append(required(at, "must provide `dnsConfig` when `dnsPolicy` is None"))
            return
        if not config.get("nameservers"):
            text = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            out.append(required(f"{at}.nameservers", text))
            return
    if not config:
        return
    servers, searches = config.get("nameservers") or NO_ITEMS, config.get("searches") or NO_ITEMS
    if len(servers) > _SERVERS:
        out.append(invalid(f"{at}.nameservers", servers, f"must not have more than {_SERVERS} nameservers"))
    for index, server in enumerate(servers):
        legacy_ip(server, f"{at}.nameservers[{index}]", out)
    if len(searches) > _SEARCHES:
        out.append(invalid(f"{at}.searches", searches, f"must not have more than {_SEARCHES} search paths"))
    if len(" ".join(searches).encode()) > _SEARCH_CHARACTERS:
        text = f"must not have more than {_SEARCH_CHARACTERS} characters (including spaces) in the search list"
        out.append(invalid(f"{at}.searches", searches, text))
    for index, search in enumerate(searches):
        if search != ".":
            fits(search_domain, search.removesuffix("."), f"{at}.searches[{index}]", out)
    for index, option in enumerate(config.get("options") or NO_ITEMS):
        if not option.get("name"):
            out.append(required(f"{at}.options[{index}]", "must not be empty"))


def check_host_ports(spec: Spec, at: str, out: Errors, *, is_pod: bool) -> None:
    """On the host's network a port is the same inside and outside."""
    if not spec.get("hostNetwork"):
        return
    for number, container in enumerate(spec.get("containers") or NO_ITEMS):
        for index, port in enumerate(container.get("ports") or NO_ITEMS):
            host, inner = port.get("hostPort") or 0, port.get("containerPort") or 0
            if (is_pod or host) and host != inner:
                text = "must match `containerPort` when `hostNetwork` is true"
                out.append(invalid(f"{at}.containers[{number}].ports[{index}].hostPort", host, text))


def check_host_users(spec: Spec, at: str, out: Errors) -> None:
    """A user namespace of its own goes with no namespace of the host."""
    if spec.get("hostUsers") is not False:
        return
    text = "when `hostUsers` is false"
    for field, shown in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")):
        if spec.get(field):
            out.append(forbidden(f"{at}.{shown}", text))
    for here, container in containers_of(spec, at):
        if container.get("volumeDevices"):
            out.append(forbidden(f"{here}.volumeDevices", text))


def check_hostname_override(spec: Spec, at: str, out: Errors) -> None:
    """A host name in place of the pod's."""
    name = spec.get("hostnameOverride")
    if name is None:
        return
    if spec.get("setHostnameAsFQDN"):
        out.append(forbidden(at, "may not be specified when setHostnameAsFQDN is true"))
    if spec.get("hostNetwork"):
        out.append(forbidden(at, "may not be specified when hostNetwork is true"))
    if len(name.encode()) > 64:
        out.append(too_long(at, 64))
    dns_subdomain(name, at, out)


def check_host_aliases(spec: Spec, at: str, out: Errors) -> None:
    """Lines of the pod's hosts file."""
    for index, alias in enumerate(spec.get("hostAliases") or NO_ITEMS):
        legacy_ip(alias.get("ip") or "", f"{at}[{index}].ip", out)
        for number, name in enumerate(alias.get("hostnames") or NO_ITEMS):
            dns_subdomain(name, f"{at}[{index}].hostnames[{number}]", out)
