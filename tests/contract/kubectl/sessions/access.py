"""What a user without many rights sees of kubectl."""

from __future__ import annotations

from tests.contract.kubectl.session import run, session

_AS = "--as u-{ns} --as-group system:unauthenticated"

SESSIONS = [
    session(
        "access: a user with a role",
        "create role reader --verb=get,list,watch --resource=pods,configmaps",
        "create role one --verb=get --resource=secrets --resource-name=mine",
        "create rolebinding reader --role=reader --user=u-{ns}",
        "create rolebinding one --role=one --user=u-{ns}",
        run(f"auth can-i list pods {_AS}").eventually(),
        run(f"auth can-i get secrets/mine {_AS}").eventually(),
        f"auth can-i create pods {_AS}",
        f"auth can-i get secrets {_AS}",
        f"auth can-i get pods --subresource=log {_AS}",
        f"auth can-i list pods --all-namespaces {_AS}",
        f"auth can-i list nodes {_AS}",
        f"auth can-i get /version {_AS}",
        f"auth can-i get /metrics {_AS}",
        f"auth can-i create pods -q {_AS}",
        f"get pods {_AS}",
        "create configmap c --from-literal=a=b",
        "get configmaps c --as u-{ns}",
        "get secrets --as u-{ns}",
        "get secrets mine --as u-{ns}",
        "create configmap d --as u-{ns}",
        "delete configmap c --as u-{ns}",
        "get nodes --as u-{ns}",
        "get clusterroles --as u-{ns}",
        "apply -f role.yaml --as u-{ns}",
        files={
            "role.yaml": {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "Role",
                "metadata": {"name": "more"},
                "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["*"]}],
            }
        },
    ),
    session(
        "access: a list of one role's rights",
        "create role reader --verb=get,list --resource=pods",
        "create rolebinding reader --role=reader --user=u-{ns}",
        run(f"auth can-i list pods {_AS}").eventually(),
        f"auth can-i --list --no-headers {_AS}",
    ),
    session(
        "access: default cluster roles",
        "get clusterrole cluster-admin -o yaml --show-managed-fields=false",
        "describe clusterrole system:discovery",
        "describe clusterrolebinding system:discovery",
        "get clusterrolebinding system:basic-user -o jsonpath={.subjects}",
        "get role -n kube-system extension-apiserver-authentication-reader -o jsonpath={.rules}",
        "describe clusterrole system:node-proxier",
        run("get clusterroles -l kubernetes.io/bootstrapping=rbac-defaults -o name").showing("stdout"),
        run("get clusterrolebindings -l kubernetes.io/bootstrapping=rbac-defaults -o wide --no-headers").showing(
            "nothing"
        ),
        run("get roles,rolebindings -A -l kubernetes.io/bootstrapping=rbac-defaults -o name").showing("stdout"),
    ),
    session(
        "access: reconcile",
        "auth reconcile -f roles.yaml",
        "auth reconcile -f roles.yaml",
        "get role reader -o jsonpath={.rules}",
        files={
            "roles.yaml": {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "Role",
                "metadata": {"name": "reader"},
                "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
            }
        },
    ),
]
