"""Our API server and kube-apiserver, the same requests in the same run, alternating.

``python -m bench.apiserver [--rounds R] [--user bound|master] [--only ours,older,theirs] [--older CHECKOUT]
[--rows rates|lists]``:
the client is a service account with a role for what it asks, as a controller is, so that the rates hold what roles
cost; ``master`` is in ``system:masters``, for whom no role is looked up. ``--older`` adds the embedded server of an
older checkout.

It ends with 1 where a list is slower than kube-apiserver's, or a row more than 5 % slower than the older checkout's.

Rates are requests a second with sixteen in flight (lists: two) from one asynchronous client on the same two cores. What
counts is the ratio; absolute figures change with the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import statistics
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import uvloop
import yaml
from bench.client import Bench, Call, Rate, Server
from bench.servers import older, ours, resident_megabytes, theirs

from rayward.net.client import HttpClient

_APPLY = "application/apply-patch+yaml"
_MERGE = "application/merge-patch+json"
_REPETITIONS = 3


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the comparison."""

    name: str
    count: int
    make: Callable[[str, int], Sequence[Call]]


def _config_map(name: str, value: str) -> bytes:
    data = {"text": "x" * 300, "value": value}
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}).encode()


def _pod(name: str) -> bytes:
    container: dict[str, Any] = {
        "name": "main",
        "image": "busybox:1.36",
        "command": ["sleep", "1000"],
        "env": [{"name": f"VARIABLE_{i}", "value": "x" * 20} for i in range(8)],
        "ports": [{"containerPort": 80}],
        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"cpu": "1", "memory": "128Mi"}},
    }
    metadata = {"name": name, "labels": {"app": "bench", "tier": "x"}, "annotations": {"note": "z" * 200}}
    spec = {"automountServiceAccountToken": False, "containers": [container]}
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}).encode()


def _pod_config(name: str, image: str) -> bytes:
    spec = {"containers": [{"name": "main", "image": image}]}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"round": "1"}}, "spec": spec}
    return json.dumps(body).encode()


def _ray_cluster(name: str, replicas: int) -> bytes:
    container = {"image": "rayproject/ray:2.52.0", "resources": {"limits": {"cpu": "1", "memory": "2Gi"}}}
    group: dict[str, Any] = {
        "groupName": "workers",
        "replicas": replicas,
        "minReplicas": 0,
        "maxReplicas": 10,
        "rayStartParams": {},
        "template": {"spec": {"containers": [{"name": "ray-worker", **container}]}},
    }
    head = {
        "rayStartParams": {"dashboard-host": "0.0.0.0"},
        "template": {"spec": {"containers": [{"name": "ray-head", **container}]}},
    }
    spec = {"rayVersion": "2.52.0", "headGroupSpec": head, "workerGroupSpecs": [group]}
    body = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": name}, "spec": spec}
    return json.dumps(body).encode()


_CORE = "/api/v1/namespaces"
_RAY = "/apis/ray.io/v1/namespaces"
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

ROWS = (
    Row("create ConfigMap", 1500, lambda ns, i: [Call("POST", f"{_CORE}/{ns}/configmaps", _config_map(f"c{i}", "0"))]),
    Row("get ConfigMap", 3000, lambda ns, i: [Call("GET", f"{_CORE}/{ns}/configmaps/c{i % 1500}")]),
    Row(
        "get + update",
        1000,
        lambda ns, i: [
            Call("GET", f"{_CORE}/{ns}/configmaps/c{i}"),
            Call("PUT", f"{_CORE}/{ns}/configmaps/c{i}", _config_map(f"c{i}", "1")),
        ],
    ),
    Row(
        "merge patch",
        1500,
        lambda ns, i: [Call("PATCH", f"{_CORE}/{ns}/configmaps/c{i}", b'{"data":{"value":"2"}}', _MERGE)],
    ),
    Row("create Pod", 1000, lambda ns, i: [Call("POST", f"{_CORE}/{ns}/pods", _pod(f"p{i}"))]),
    Row(
        "apply Pod",
        1000,
        lambda ns, i: [
            Call(
                "PATCH",
                f"{_CORE}/{ns}/pods/p{i}?fieldManager=b&force=true",
                _pod_config(f"p{i}", "busybox:1.37"),
                _APPLY,
            )
        ],
    ),
    Row("create RayCluster", 500, lambda ns, i: [Call("POST", f"{_RAY}/{ns}/rayclusters", _ray_cluster(f"r{i}", 1))]),
    Row(
        "apply RayCluster",
        500,
        lambda ns, i: [
            Call(
                "PATCH",
                f"{_RAY}/{ns}/rayclusters/r{i}?fieldManager=b&force=true",
                _ray_cluster(f"r{i}", 2),
                _APPLY,
            )
        ],
    ),
    Row("delete ConfigMap", 1500, lambda ns, i: [Call("DELETE", f"{_CORE}/{ns}/configmaps/c{i}")]),
)
_WATCHED = 400
# Lists are long: two at a time, of a namespace that is filled once.
_LISTED = "bench-lists"
_PODS, _CLUSTERS = 2000, 1000
_TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
_LISTS: dict[str, Call] = {
    "list 2,000 Pods": Call("GET", f"{_CORE}/{_LISTED}/pods"),
    "its page of 500": Call("GET", f"{_CORE}/{_LISTED}/pods?limit=500"),
    "for kubectl (Table)": Call("GET", f"{_CORE}/{_LISTED}/pods", accept=_TABLE),
    "list 1,000 RayClusters": Call("GET", f"{_RAY}/{_LISTED}/rayclusters"),
    "their page of 500": Call("GET", f"{_RAY}/{_LISTED}/rayclusters?limit=500"),
    "the same as Table": Call("GET", f"{_RAY}/{_LISTED}/rayclusters", accept=_TABLE),
}
_LISTINGS, _TOGETHER = 30, 2
_WATCH_LISTS = {
    "2,000 Pods, watch-list": f"{_CORE}/{_LISTED}/pods",
    "RayClusters, watch-list": f"{_RAY}/{_LISTED}/rayclusters",
}
_KINDS = ("rates", "lists")
_LEAST = {"theirs": 1.0, "older": 0.95}
"""Of a list to kube-apiserver's, of any row to that of an older checkout."""
_USER = "bench"
_RULE = {
    "apiGroups": ["", "coordination.k8s.io", "ray.io"],
    "resources": ["configmaps", "leases", "namespaces", "pods", "rayclusters", "serviceaccounts"],
    "verbs": ["create", "delete", "get", "list", "patch", "update", "watch"],
}


async def _until_served(bench: Bench) -> None:
    """The definition and the role are known a moment after they are written."""
    while True:
        try:
            await bench.send(Call("GET", "/apis/ray.io/v1/rayclusters"))
        except SystemExit:
            await asyncio.sleep(0.05)
            continue
        return


async def _bound(server: Server, http: HttpClient) -> Server:
    """The same server, for a service account that may do what the rows do and no more."""
    bench = Bench(server, http)
    group = "rbac.authorization.k8s.io"
    account = f"{_CORE}/default/serviceaccounts"
    subjects = [{"kind": "ServiceAccount", "name": _USER, "namespace": "default"}]
    named = {"metadata": {"name": _USER}}
    reference = {"apiGroup": group, "kind": "ClusterRole", "name": _USER}
    for path, body in (
        (account, named),
        (f"/apis/{group}/v1/clusterroles", {**named, "rules": [_RULE]}),
        (f"/apis/{group}/v1/clusterrolebindings", {**named, "roleRef": reference, "subjects": subjects}),
    ):
        await bench.send(Call("POST", path, json.dumps(body).encode()))
    request = json.dumps({"spec": {"expirationSeconds": 24 * 3600}}).encode()
    answer = await bench.send(Call("POST", f"{account}/{_USER}/token", request))
    return replace(server, token=json.loads(answer)["status"]["token"])


async def _make_namespace(bench: Bench, namespace: str) -> None:
    body = json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}).encode()
    await bench.send(Call("POST", "/api/v1/namespaces", body))
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
    await bench.send(Call("POST", f"{_CORE}/{namespace}/serviceaccounts", json.dumps(account).encode()))


async def _fill(bench: Bench) -> None:
    await _make_namespace(bench, _LISTED)
    await bench.rate(_PODS, lambda step: [Call("POST", f"{_CORE}/{_LISTED}/pods", _pod(f"p{step}"))])
    clusters = f"{_RAY}/{_LISTED}/rayclusters"
    await bench.rate(_CLUSTERS, lambda step: [Call("POST", clusters, _ray_cluster(f"r{step}", 1))])


async def _round(bench: Bench, namespace: str, kinds: Sequence[str]) -> dict[str, Rate]:
    await _make_namespace(bench, namespace)
    rates: dict[str, Rate] = {}
    if "lists" in kinds:
        for name, call in _LISTS.items():
            rates[name] = await bench.rate(_LISTINGS, lambda _step, call=call: [call], _TOGETHER)
        for name, path in _WATCH_LISTS.items():
            rates[name] = await bench.watch_list_rate(path, _LISTINGS // 3)
    if "rates" not in kinds:
        return rates
    for row in ROWS:
        rates[row.name] = await bench.rate(row.count, lambda step, row=row: row.make(namespace, step))
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"

    def lease(step: int) -> Call:
        body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": f"l{step}"}, "spec": {}}
        return Call("POST", leases, json.dumps(body).encode())

    rates["watch deliveries"] = await bench.watch_rate(leases, _WATCHED, lease)
    return rates


async def _compare(servers: Sequence[Server], crd: bytes, repetitions: int, user: str, kinds: Sequence[str]) -> bool:
    """Whether every row is as fast as it has to be."""
    results: dict[str, list[dict[str, Rate]]] = {server.name: [] for server in servers}
    async with HttpClient() as http:
        benches: list[Bench] = []
        for server in servers:
            await Bench(server, http).send(Call("POST", _DEFINITIONS, crd))
            bench = Bench(await _bound(server, http) if user == "bound" else server, http)
            benches.append(bench)
            await _until_served(bench)
            if "lists" in kinds:
                await _fill(bench)
        for repetition in range(repetitions):
            for server, bench in zip(servers, benches, strict=True):
                print(f"round {repetition + 1} of {repetitions}: {server.name}", flush=True)
                results[server.name].append(await _round(bench, f"bench-{repetition}", kinds))
    slower = [row for other in servers[1:] for row in _report(servers[0], other, results)]
    for row in slower:
        print(row)
    return not slower


def _report(mine: Server, real: Server, results: dict[str, list[dict[str, Rate]]]) -> list[str]:
    """Print the comparison; returns what is slower than it may be."""
    slower: list[str] = []
    shown = "theirs" if real.name != "older" else real.name
    print(
        f"\n{'row':<24}{mine.name + '/s':>10}{shown + '/s':>10}{'ratio':>8}{'CPU ratio':>11}"
        "   server CPU ms, client CPU (each)"
    )
    for name in results[mine.name][0]:
        own = [rates[name] for rates in results[mine.name]]
        other = [rates[name] for rates in results[real.name]]
        ratio = statistics.median(a.per_second / b.per_second for a, b in zip(own, other, strict=True))
        least = _LEAST[shown] if shown == "older" or name in _LISTS or name in _WATCH_LISTS else 0.0
        if ratio < least:
            slower.append(f"too slow: {name} is {ratio:.2f} of {shown}; at least {least:.2f} is asked for")
        rate = statistics.median(r.per_second for r in own)
        theirs_rate = statistics.median(r.per_second for r in other)
        cpu = statistics.median(r.client_cpu for r in own), statistics.median(r.client_cpu for r in other)
        spent = [statistics.median(r.server_cpu for r in rates) for rates in (own, other)]
        print(
            f"{name:<24}{rate:>10.0f}{theirs_rate:>10.0f}{ratio:>8.2f}{spent[0] / max(spent[1], 1e-9):>11.2f}   "
            f"{spent[0] * 1e3:.3f}, {spent[1] * 1e3:.3f}; {cpu[0]:.2f}, {cpu[1]:.2f}"
        )
    print(f"{'ready (s)':<24}{mine.ready_seconds:>10.2f}{real.ready_seconds:>10.2f}")
    memory = resident_megabytes(mine), resident_megabytes(real)
    print(f"{'resident (MB)':<24}{memory[0]:>10.0f}{memory[1]:>10.0f}{memory[0] / memory[1]:>8.2f}   after all rounds")
    return slower


async def _memory(server: Server, pods: int) -> None:
    async with HttpClient() as http:
        bench = Bench(server, http)
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
        await bench.send(Call("POST", f"{_CORE}/default/serviceaccounts", json.dumps(account).encode()))
        before = resident_megabytes(server)
        await bench.rate(pods, lambda step: [Call("POST", f"{_CORE}/default/pods", _pod(f"p{step}"))])
        size = len(await bench.send(Call("GET", f"{_CORE}/default/pods/p0")))
    print(f"memory with {pods} Pods of {size} bytes: {resident_megabytes(server):.0f} MB (empty: {before:.0f} MB)")


def main() -> int:
    """Compare both servers and print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.apiserver")
    parser.add_argument("--rounds", type=int, default=_REPETITIONS)
    parser.add_argument("--memory-only", action="store_true")
    parser.add_argument("--user", choices=("bound", "master"), default="bound", help="who asks")
    parser.add_argument("--only", default="", help="of ours, older and theirs, two or more; by default all")
    parser.add_argument("--older", type=Path, metavar="CHECKOUT", help="an older checkout of Rayward")
    parser.add_argument("--rows", choices=_KINDS, help="only these; by default all")
    options, _ = parser.parse_known_args()
    fast = True
    if not options.memory_only:
        kinds = {"ours": ours, "theirs": theirs}
        if options.older is not None:
            kinds["older"] = partial(older, options.older)
        chosen = options.only.split(",") if options.only else list(kinds)
        if unknown := [name for name in chosen if name not in kinds]:
            parser.error(f"--only: {', '.join(unknown)}: there are {', '.join(kinds)}")
        with ExitStack() as stack:
            servers = [stack.enter_context(kinds[name]()) for name in chosen]
            rows = [options.rows] if options.rows else _KINDS
            fast = uvloop.run(_compare(servers, _ray_cluster_definition(), options.rounds, options.user, rows))
    if options.rows is None:
        with ours() as server:
            uvloop.run(_memory(server, 10_000))
    return 0 if fast else 1


def _ray_cluster_definition() -> bytes:
    """KubeRay's own definition, as the contract suite ships it."""
    folder = Path(__file__).parent.parent / "tests" / "contract" / "data"
    found = sorted(folder.glob("*raycluster*"))
    if not found:
        raise SystemExit(f"no definition of RayCluster in {folder}")
    return json.dumps(yaml.safe_load(gzip.decompress(found[0].read_bytes()))).encode()


if __name__ == "__main__":
    sys.exit(main())
