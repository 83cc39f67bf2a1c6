"""apply, create, edit, patch, replace and their kin."""

from __future__ import annotations

from tests.contract.case import NEVER_A_SERVER_ERROR
from tests.contract.kubectl.session import manifests, patch, run, session, status
from tests.contract.objects import configmap, container, deployment, pod, raycluster, service, worker_group

_CM = configmap("c", {"a": "1", "b": "2"})
_TWO = configmap("c", {"a": "1", "c": "3"})
_RAY = raycluster("r", workerGroupSpecs=[worker_group("w")])

_NOT_DECLARED = (
    "Error from server (BadRequest): failed to create typed patch object ({ns}/r; ray.io/v1, Kind=RayCluster): "
    ".spec.odd: field not declared in schema"
)

SESSIONS = [
    session(
        "apply: created, unchanged, configured",
        run("apply -f -").with_stdin(_CM),
        run("apply -f -").with_stdin(_CM),
        run("apply -f -").with_stdin(_TWO),
        "get cm c -o yaml",
        "apply view-last-applied cm c",
        "get cm c -o jsonpath='{.data}'",
    ),
    session(
        "apply: many files",
        "apply -f folder",
        "apply -f folder -R",
        "apply -f folder/one.yaml -f folder/two.json",
        "apply -f folder/both.yaml -o name",
        "apply -f nothing.yaml",
        files={
            "folder/one.yaml": manifests(_CM),
            "folder/two.json": '{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"stringData":{"a":"b"}}',
            "folder/both.yaml": manifests(_CM, service("s")),
            "folder/deep/three.yaml": manifests(configmap("deep")),
        },
    ),
    session(
        "apply: a Deployment merges strategically",
        run("apply -f -").with_stdin(deployment("d", replicas=1)),
        "set env deployment/d A=1",
        "annotate deployment d by=hand",
        run("apply -f -").with_stdin(deployment("d", replicas=2)),
        "get deployment d -o yaml",
        run("apply -f -").with_stdin(deployment("d")),
    ),
    session(
        "apply: a custom kind merges as JSON",
        run("apply -f -").with_stdin(_RAY),
        patch("raycluster r", {"spec": {"suspend": True}}),
        run("apply -f -").with_stdin(raycluster("r", workerGroupSpecs=[worker_group("w", 3)])),
        "get raycluster r -o yaml",
    ),
    session(
        "apply: dry runs",
        run("apply -f - --dry-run=client").with_stdin(_CM),
        run("apply -f - --dry-run=server").with_stdin(_CM),
        run("apply -f - --dry-run=server -o yaml").with_stdin(_CM),
        "get cm c",
        run("create -f - --dry-run=server -o name").with_stdin(pod("p")),
    ),
    session(
        "apply: pruning",
        run("apply -f - -l app=x --prune --prune-allowlist=core/v1/ConfigMap").with_stdin(
            configmap("a", labels={"app": "x"}), configmap("b", labels={"app": "x"})
        ),
        run("apply -f - -l app=x --prune --prune-allowlist=core/v1/ConfigMap").with_stdin(
            configmap("a", labels={"app": "x"})
        ),
        "get cm -l app=x",
    ),
    session(
        "apply: sets",
        run("apply -f - --prune --applyset=mine")
        .with_stdin(configmap("a"), configmap("b"))
        .with_env(KUBECTL_APPLYSET="true"),
        run("apply -f - --prune --applyset=mine").with_stdin(configmap("a")).with_env(KUBECTL_APPLYSET="true"),
        "get cm a b -o name",
        "get secret mine -o jsonpath='{.metadata.annotations}'",
    ),
    session(
        "apply: kustomize",
        "apply -k here",
        "get cm -l by=kustomize -o name",
        "delete -k here",
        files={
            "here/kustomization.yaml": "resources: [cm.yaml]\nnamePrefix: pre-\nlabels: [{pairs: {by: kustomize}}]\n",
            "here/cm.yaml": manifests(_CM),
        },
    ),
    session(
        "apply: what is refused",
        run("apply -f -").with_stdin(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "p"},
                "spec": {"containers": [{"name": "Bad Name"}]},
            }
        ),
        run("apply -f -").with_stdin({**_CM, "odd": 1}),
        run("apply -f - --validate=false").with_stdin({**_CM, "odd": 1}),
        run("apply -f - --validate=warn").with_stdin({**_CM, "odd": 1}),
        run("apply -f - --validate=ignore").with_stdin({**_CM, "odd": 2}),
        run("apply -f -").with_stdin(
            {"apiVersion": "nothing.example.com/v1", "kind": "Odd", "metadata": {"name": "x"}}
        ),
        run("apply -f -").with_stdin("kind: [\n"),
        run("apply -f -").with_stdin("a: b\n"),
        run("apply -n {ns} -f -").with_stdin({**_CM, "metadata": {"name": "c", "namespace": "default"}}),
        run("apply -f -").with_stdin({**_CM, "metadata": {}}),
        run("apply -f -").with_stdin(raycluster("r", suspend="yes")),
        run("apply -f -").with_stdin({**_RAY, "spec": {"odd": 1}}),
        "apply -f - --server-side --force",
    ),
    session(
        "apply --server-side: conflict and force",
        run("apply --server-side -f -").with_stdin(_CM),
        run("apply --server-side -f - --field-manager=other").with_stdin(configmap("c", {"a": "9"})),
        run("apply --server-side -f - --field-manager=other --force-conflicts").with_stdin(configmap("c", {"a": "9"})),
        run("apply --server-side -f -").with_stdin(_CM),
        "get cm c -o yaml --show-managed-fields",
        run("apply --server-side -f - --dry-run=server").with_stdin(configmap("c", {"z": "1"})),
    ),
    session(
        "apply --server-side: after apply",
        run("apply -f -").with_stdin(_CM),
        run("apply --server-side -f -").with_stdin(_TWO),
        "get cm c -o yaml --show-managed-fields",
        run("apply -f -").with_stdin(_CM),
        "get cm c -o yaml --show-managed-fields",
    ),
    session(
        "apply --server-side: a custom kind",
        run("apply --server-side -f -").with_stdin(_RAY),
        run("apply --server-side -f - --field-manager=me").with_stdin(
            {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "r"}, "spec": {"suspend": True}}
        ),
        run("apply --server-side -f - --field-manager=you").with_stdin(
            {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "r"}, "spec": {"suspend": False}}
        ),
        run("apply --server-side -f -").with_stdin(raycluster("r", odd=1)),
        run("apply --server-side -f - -o name").with_stdin(_RAY),
        differs=NEVER_A_SERVER_ERROR,
        ours={3: {"stderr": [_NOT_DECLARED]}},
    ),
    session(
        "diff",
        run("diff -f -").with_stdin(_CM),
        run("apply -f -").with_stdin(_CM),
        run("diff -f -").with_stdin(_CM),
        run("diff -f -").with_stdin(_TWO),
        run("diff --server-side -f -").with_stdin(_TWO),
        run("diff --server-side --force-conflicts -f -").with_stdin(_TWO),
        run("diff -f -").with_stdin({**_CM, "odd": 1}),
    ),
    session(
        "edit",
        run("apply -f -").with_stdin(_CM),
        run("edit cm c").with_env(KUBE_EDITOR="./replace.sh"),
        "get cm c -o jsonpath='{.data.a}'",
        run("edit cm c").with_env(KUBE_EDITOR="./nothing.sh"),
        run("edit cm c").with_env(KUBE_EDITOR="./fail.sh"),
        run("edit cm c -o json").with_env(KUBE_EDITOR="./json.sh"),
        run("edit cm nothing").with_env(KUBE_EDITOR="./replace.sh"),
        "get cm c -o jsonpath='{.data}'",
        files={
            "replace.sh": '#!/bin/sh\nsed -i \'s/a: "1"/a: "edited"/\' "$1"\n',
            "nothing.sh": "#!/bin/sh\n:\n",
            "fail.sh": "#!/bin/sh\nexit 1\n",
            "json.sh": '#!/bin/sh\nsed -i \'s/"b": "2"/"b": "json"/\' "$1"\n',
        },
    ),
    session(
        "edit: a custom kind and its status",
        run("apply -f -").with_stdin(_RAY),
        run("edit raycluster r").with_env(KUBE_EDITOR="./scale.sh"),
        "get raycluster r -o jsonpath='{.spec.workerGroupSpecs[0].replicas} {.metadata.generation}'",
        "apply edit-last-applied raycluster nothing",
        files={"scale.sh": "#!/bin/sh\nsed -i 's/replicas: 1/replicas: 5/' \"$1\"\n"},
    ),
    session(
        "patch: three types",
        run("apply -f -").with_stdin(deployment("d")),
        patch("deployment d", {"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "x"}]}}}}, ""),
        "get deployment d -o jsonpath='{.spec.template.spec.containers[*].name}'",
        patch("deployment d", {"spec": {"replicas": 4}}),
        patch("deployment d", [{"op": "replace", "path": "/spec/replicas", "value": 5}], "--type=json"),
        patch("deployment d", {"spec": {"replicas": 5}}, ""),
        patch("deployment d", [{"op": "remove", "path": "/spec/nothing"}], "--type=json"),
        "patch deployment d -p 'nonsense'",
        patch("deployment d", {"spec": {"replicas": "x"}}, ""),
        patch("deployment nothing", {}, ""),
        patch("deployment d", {}, "--type=odd"),
        "patch deployment d --patch-file=p.yaml",
        'patch -f d.yaml -p \'{"metadata":{"labels":{"x":"y"}}}\' -o name',
        "patch deployment d --dry-run=server -p '{\"spec\":{\"paused\":true}}' -o jsonpath='{.spec.paused}'",
        files={"p.yaml": "spec:\n  paused: true\n", "d.yaml": manifests(deployment("d"))},
    ),
    session(
        "patch: custom kinds and status",
        run("apply -f -").with_stdin(_RAY),
        patch("raycluster r", {"spec": {"suspend": True}}, ""),
        patch("raycluster r", {"spec": {"suspend": True}}),
        status("raycluster r", state="ready"),
        "get raycluster r",
        patch("raycluster r", {"spec": {"suspend": "yes"}}),
        patch("raycluster r", {}, "--subresource=scale --type=merge"),
    ),
    session(
        "label",
        run("create configmap c --from-literal=a=1"),
        run("create configmap d --from-literal=a=1"),
        "label cm c x=y",
        "label cm c x=z",
        "label cm c x=z --overwrite",
        "label cm c x=z",
        "label cm c d x- ",
        "label cm -l '!kubernetes' all=yes --dry-run=server",
        "label cm c 'bad key=x'",
        "label cm c a='bad value'",
        "label cm nothing a=b",
        "label cm c a=b --resource-version=1",
        "label cm c --list",
        "label cm c --list one=two",
        "label cm c d both=1 -o name",
        "label cm c",
    ),
    session(
        "annotate",
        run("create configmap c --from-literal=a=1"),
        "annotate cm c x=y",
        "annotate cm c x=z",
        "annotate cm c x=z --overwrite",
        "annotate cm c x-",
        "annotate cm c x-",
        "annotate cm c text='some words, and more'",
        "annotate cm c --list",
        "annotate cm nothing a=b",
        "annotate cm c 'bad key=1'",
        "annotate cm c text='other' --overwrite --dry-run=server -o jsonpath='{.metadata.annotations.text}'",
    ),
    session(
        "replace",
        run("create -f -").with_stdin(_CM),
        run("replace -f -").with_stdin(_TWO),
        "get cm c -o jsonpath='{.data}'",
        run("replace -f -").with_stdin(configmap("nothing")),
        run("replace -f -").with_stdin(configmap("c", {"a": "1"}, resourceVersion="1")),
        run("replace --force -f -").with_stdin(_CM),
        run("replace -f - --dry-run=server").with_stdin(_CM),
        run("replace -f - --subresource=status").with_stdin(deployment("d")),
        run("replace --raw /api/v1/namespaces/{ns}/configmaps/c -f raw.json").showing("nothing"),
        files={"raw.json": '{"metadata":{"name":"c"},"data":{"raw":"1"}}'},
    ),
    session(
        "create: what exists",
        run("create -f -").with_stdin(_CM),
        run("create -f -").with_stdin(_CM),
        run("create -f - --save-config -o name").with_stdin(configmap("saved")),
        "apply view-last-applied cm saved",
        run("create -f -")
        .with_stdin({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "made-"}})
        .showing("nothing"),
        run("create -f - --validate=strict").with_stdin({**configmap("odd"), "odd": 1}),
        run("create -f -").with_stdin(pod("p", container("x", image=""))),
    ),
    session(
        "apply: last-applied by hand",
        run("create -f -").with_stdin(_CM),
        "apply view-last-applied cm c",
        "apply set-last-applied -f cm.yaml",
        "apply set-last-applied -f cm.yaml --create-annotation",
        "apply view-last-applied cm c -o json",
        files={"cm.yaml": manifests(_CM)},
    ),
]
