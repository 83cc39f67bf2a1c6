"""Environment variables of a container."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rayward.kube.machinery.fielderror import invalid, not_found, required
from rayward.kube.machinery.names import (
    check_config_map_key,
    check_dns1123_subdomain,
    check_env_var_name,
    subdomain_name,
)
from rayward.local.apiserver.builtin.check import Errors, dns_label, fits
from rayward.local.apiserver.builtin.empty import NO_ITEMS, NOTHING
from rayward.local.apiserver.builtin.podspec.fieldrefs import ENV_FIELDS, check_field_ref, check_resource_field_ref
from rayward.local.apiserver.builtin.podspec.paths import containers_of, no_backsteps

Spec = Mapping[str, Any]


def check_env(variables: Sequence[Spec], at: str, out: Errors) -> None:
    """Variables one by one."""
    for index, variable in enumerate(variables):
        name = variable.get("name")
        if not name:
            out.append(required(f"{at}[{index}].name"))
        else:
            fits(check_env_var_name, name, f"{at}[{index}].name", out)
        source = variable.get("valueFrom")
        if source is not None:
            _check_source(source, variable.get("value") or "", f"{at}[{index}].valueFrom", out)


def _check_source(source: Spec, value: str, at: str, out: Errors) -> None:
    if source.get("fieldRef") is not None:
        check_field_ref(source["fieldRef"], ENV_FIELDS, f"{at}.fieldRef", out)
    if source.get("resourceFieldRef") is not None:
        check_resource_field_ref(source["resourceFieldRef"], f"{at}.resourceFieldRef", out, needs_container=False)
    for kind in ("configMapKeyRef", "secretKeyRef"):
        if source.get(kind) is not None:
            _check_key_ref(source[kind], f"{at}.{kind}", out)
    if source.get("fileKeyRef") is not None:
        _check_file_ref(source["fileKeyRef"], f"{at}.fileKeyRef", out)
    if not source:
        text = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        out.append(invalid(at, "", text))
    elif value:
        out.append(invalid(at, "", "may not be specified when `value` is not empty"))
    elif len(source) > 1:
        out.append(invalid(at, "", "may not have more than one field specified at a time"))


def _check_key_ref(reference: Spec, at: str, out: Errors) -> None:
    fits(check_dns1123_subdomain, reference.get("name") or "", f"{at}.name", out)
    if not reference.get("key"):
        out.append(required(f"{at}.key"))
    else:
        fits(check_config_map_key, reference["key"], f"{at}.key", out)


def _check_file_ref(reference: Spec, at: str, out: Errors) -> None:
    key, volume, path = reference.get("key"), reference.get("volumeName"), reference.get("path")
    if not key:
        out.append(required(f"{at}.key"))
    else:
        fits(check_env_var_name, key, f"{at}.key", out)
    if not volume:
        out.append(required(f"{at}.volumeName"))
    else:
        dns_label(volume, f"{at}.volumeName", out)
    if not path:
        out.append(required(f"{at}.path"))
    else:
        no_backsteps(path, f"{at}.path", out)


def check_env_from(sources: Sequence[Spec], at: str, out: Errors) -> None:
    """Config maps and secrets whose keys all become variables."""
    for index, source in enumerate(sources):
        here = f"{at}[{index}]"
        if source.get("prefix"):
            fits(check_env_var_name, source["prefix"], f"{here}.prefix", out)
        kinds = [kind for kind in ("configMapRef", "secretRef") if source.get(kind) is not None]
        for kind in kinds:
            name = source[kind].get("name")
            if not name:
                out.append(required(f"{here}.{kind}.name"))
            else:
                for message in subdomain_name(name, True):
                    out.append(invalid(f"{here}.{kind}.name", name, message))
        if not kinds:
            out.append(invalid(at, "", "must specify one of: `configMapRef` or `secretRef`"))
        elif len(kinds) > 1:
            out.append(invalid(at, "", "may not have more than one field specified at a time"))


def check_file_volumes(spec: Spec, at: str, out: Errors) -> None:
    """Variables from files read them from an emptyDir."""
    volumes = {volume.get("name"): volume for volume in spec.get("volumes") or NO_ITEMS}
    for here, container in containers_of(spec, at):
        for index, variable in enumerate(container.get("env") or NO_ITEMS):
            reference = (variable.get("valueFrom") or NOTHING).get("fileKeyRef")
            if reference is None:
                continue
            path, name = f"{here}.env[{index}].valueFrom.fileKeyRef.volumeName", reference.get("volumeName") or ""
            if name not in volumes:
                out.append(not_found(path, name))
            elif volumes[name].get("emptyDir") is None:
                out.append(invalid(path, name, "referenced volume must be of type emptyDir"))
