"""What the server makes of a body before it validates it: decoded, defaulted, converted.

A mutating webhook sees every object at that point. This one notes it and denies the request, so probes need not be
valid and nothing is stored.
"""

from __future__ import annotations

import base64
import json
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Final, Self

from tests.kube.real.cluster import USER, RealControlPlane
from tests.kube.record import kinds
from tests.kube.record.server import Object, Server

# These fill in fields too, but not as defaults of a type, or refuse a probe before the webhook sees it.
_MEDDLING_PLUGINS: Final = (
    "DefaultTolerationSeconds",
    "PodSecurity",
    "Priority",
    "RuntimeClass",
    "StorageObjectInUseProtection",
    "TaintNodesByCondition",
)
PLANE_ARGS: Final = (f"--disable-admission-plugins={','.join(_MEDDLING_PLUGINS)}",)

_NAME: Final = "capture.rayward.dev"
_VALID_WEBHOOK: Final[Object] = {
    "name": "a.example.com",
    "admissionReviewVersions": ["v1"],
    "sideEffects": "None",
    "clientConfig": {"service": {"namespace": "default", "name": "a"}},
    "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}],
}
_RULE: Final[Object] = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
_VALID_POLICY: Final[Object] = {
    "matchConstraints": {"resourceRules": [_RULE]},
    "validations": [{"expression": "true"}],
}
# kube-apiserver never asks webhooks about webhooks and policies. Probes of these are made valid and sent as dry runs.
_UNSEEN: Final[dict[str, Object]] = {
    "mutatingwebhookconfigurations": {"webhooks": [_VALID_WEBHOOK]},
    "validatingwebhookconfigurations": {"webhooks": [_VALID_WEBHOOK]},
    "validatingadmissionpolicies": {"spec": _VALID_POLICY},
    "validatingadmissionpolicybindings": {"spec": {"policyName": "probe", "validationActions": ["Deny"]}},
}


class Capture:
    """Sends probes to a control plane that was started with ``PLANE_ARGS``."""

    def __init__(self, plane: RealControlPlane) -> None:
        self._plane = plane
        self._server = Server(plane)
        self._seen: list[Any] = []

    def __enter__(self) -> Self:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._plane.folder / "tls.crt", self._plane.folder / "tls.key")
        self._webhook = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self._seen))
        self._webhook.socket = context.wrap_socket(self._webhook.socket, server_side=True)
        self._thread = threading.Thread(target=self._webhook.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()
        self._register()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        self._webhook.shutdown()
        self._thread.join()
        self._webhook.server_close()

    def send(self, entry: Object, body: Object) -> tuple[Object, Object] | None:
        """The body as it was sent and as the server had it after defaulting; None if the server could not read it.

        Args:
            entry: The resource's discovery entry.
            body: An object without apiVersion and kind.
        """
        scope = "namespaces/default/" if entry["namespaced"] else ""
        path = f"{kinds.root_path(entry['group'])}/{scope}{entry['plural']}"
        sent = {"apiVersion": kinds.api_version(entry["group"]), "kind": entry["kind"], **body}
        if entry["plural"] in _UNSEEN:
            sent = _completed(sent, {"metadata": {"name": "probe"}, **_UNSEEN[entry["plural"]]})
            code, answer = self._server.send("POST", f"{path}?dryRun=All", sent)
            return (sent, answer) if code == 201 else None
        self._seen.clear()
        code, answer = self._server.send("POST", path, sent)
        if code == 400:
            return None
        if len(self._seen) != 1 or code != 403:
            raise RuntimeError(f"POST {path} of {body}: {code} {answer}")
        return sent, self._seen[0]

    def _register(self) -> None:
        rule = {"apiGroups": ["*"], "apiVersions": ["v1"], "resources": ["*"], "operations": ["CREATE"], "scope": "*"}
        authority = base64.b64encode(self._plane.ca_file.read_bytes()).decode()
        port = self._webhook.server_address[1]
        webhook = {
            "name": _NAME,
            "clientConfig": {"url": f"https://127.0.0.1:{port}/", "caBundle": authority},
            "rules": [rule],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        kind = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration"}
        body = {**kind, "metadata": {"name": _NAME}, "webhooks": [webhook]}
        path = "apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
        code, answer = self._server.send("POST", path, body)
        if code != 201:
            raise RuntimeError(f"the webhook was refused: {answer}")
        self._await_webhook()

    def _await_webhook(self) -> None:
        """The server takes a moment to notice a new webhook; until then dry runs pass it by."""
        path = "api/v1/namespaces/default/configmaps?dryRun=All"
        while self._server.send("POST", path, {"metadata": {"name": "probe"}})[0] != 403:
            pass


def _completed(value: Any, model: Any) -> Any:
    """The value, with whatever the model has and it lacks."""
    if isinstance(value, dict) and isinstance(model, dict):
        given: Object = value
        wanted: Object = model
        return {**wanted, **{key: _completed(each, wanted.get(key)) for key, each in given.items()}}
    if isinstance(value, list) and isinstance(model, list) and model:
        items: list[Any] = value
        return [_completed(item, model[0]) for item in items]
    return value


def _handler(seen: list[Any]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # head and body in one segment: two would wait for a delayed acknowledgement

        def do_POST(self) -> None:
            review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            request = review["request"]
            answer: Object = {"uid": request["uid"], "allowed": True}
            if request["userInfo"]["username"] == USER:  # not what the server creates for itself
                seen.append(request["object"])
                answer |= {"allowed": False, "status": {"code": 403, "message": "captured"}}
            body = json.dumps({**review, "request": None, "response": answer}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
            pass

    return Handler
