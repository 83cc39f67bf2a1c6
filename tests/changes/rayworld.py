"""A RayJob, its cluster and Ray's dashboard, answering the steps of an operation from a script."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from rayward.changes.refs import Ref
from rayward.changes.steps import NextPart, Now, Operation, Pause, Send
from rayward.kube.client.errors import from_status
from rayward.kube.client.request import Request
from rayward.net.errors import ConnectFailed

T = TypeVar("T")
Object = dict[str, Any]
REF = Ref("RayJob", "j", "default")


class RayWorld:
    """What the API server and the head answer; a test changes it between the pauses of what it tests.

    ``log`` is the whole log of the driver; a stream gives what has come since its last part.
    """

    def __init__(self) -> None:
        self.status: Object = {}
        self.spec: Object = {}
        self.cluster: Object | None = None
        self.ray = ""
        """Ray's word of the job; empty where it has none."""
        self.log = b""
        self.forbidden = False
        self.submitters: dict[str, bytes] = {}
        """What pods of the submitter say, by their name."""
        self.unreadable: set[str] = set()
        """Those whose log the API server does not give."""
        self.clock = 0.0
        self.asked: list[Request] = []
        self._read: dict[str, int] = {}

    def play(self, operation: Operation[T], *pauses: Callable[[], object]) -> T:
        """Carry out an operation; each pause, and each wait in vain for a log, makes the next change."""
        waiting = list(pauses)
        answer: Any = None
        failure: Exception | None = None
        while True:
            try:
                step = operation.throw(failure) if failure is not None else operation.send(answer)
            except StopIteration as done:
                return done.value
            answer, failure = None, None
            if isinstance(step, Pause):
                self.clock += step.seconds
                self._next(waiting)
            elif isinstance(step, Now):
                answer = self.clock
            elif isinstance(step, NextPart):
                answer, failure = self._part(step)
                if answer == b"":
                    self._next(waiting)
            elif isinstance(step, Send):
                answer, failure = self._answer(step.request)
            else:
                raise AssertionError(step)

    def job(self) -> Object:
        """The RayJob."""
        metadata = {"name": "j", "namespace": "default", "generation": 1, "resourceVersion": "1"}
        return {"kind": "RayJob", "metadata": metadata, "spec": self.spec, "status": dict(self.status)}

    def runs(self, job_id: str = "id-1", cluster: str = "c-1") -> None:
        """Ray runs the job."""
        self.cluster, self.ray = {"metadata": {"name": cluster}}, "RUNNING"
        self.status |= {"jobDeploymentStatus": "Running", "jobStatus": "RUNNING"}
        self.status |= {"jobId": job_id, "rayClusterName": cluster}

    def ends(self, ray: str = "SUCCEEDED", **status: Any) -> None:
        """The RayJob says that it has ended."""
        phase = "Failed" if ray == "FAILED" else "Complete"
        self.ray = ray
        self.status |= {"jobDeploymentStatus": phase, "jobStatus": ray, **status}

    def say(self, text: bytes) -> None:
        """The driver writes to its log."""
        self.log += text

    @staticmethod
    def _next(waiting: list[Callable[[], object]]) -> None:
        assert waiting, "the operation waits, and nothing more will happen"
        waiting.pop(0)()

    def _part(self, step: NextPart) -> tuple[bytes | None, Exception | None]:
        self.asked.append(step.request)
        if "/pods/" in step.request.target and "/log?" in step.request.target:
            pod = step.request.target.split("/pods/")[1].partition("/")[0]
            if pod in self.unreadable:
                return None, from_status({"message": f"container of {pod} is waiting", "reason": "BadRequest"}, 400)
            return self.submitters.pop(pod, None), None
        if self.cluster is None:
            self._read.clear()
            return None, ConnectFailed("no route")
        kind = "stream" if "/logs/stream" in step.request.target else "file"
        begin = self._read.get(kind, 0)
        self._read[kind] = len(self.log)
        part = self.log[begin:]
        if kind == "file" and not part:
            del self._read[kind]
            return None, None
        return part, None

    def _answer(self, request: Request) -> tuple[Any, Exception | None]:
        self.asked.append(request)
        path = request.target.partition("?")[0]
        if "/proxy/" in path:
            if self.forbidden:
                return None, from_status({"message": "services/proxy is forbidden", "reason": "Forbidden"}, 403)
            if self.cluster is None:
                self._read.clear()
                return None, from_status({"message": "no endpoints"}, 503)
            if not self.ray:
                return None, from_status({"message": "no such job"}, 404)
            return {"status": self.ray, "driver_node_id": "n", "stopped": True}, None
        if path.endswith("/pods"):
            metadata = [{"name": name, "creationTimestamp": str(at)} for at, name in enumerate(self.submitters)]
            container = {"containers": [{"name": "ray-job-submitter"}]}
            return {"items": [{"metadata": each, "spec": container} for each in metadata]}, None
        if "/rayclusters/" in path:
            if self.cluster is None:
                return None, from_status({"message": "gone", "reason": "NotFound"}, 404)
            return self.cluster, None
        if request.method == "PATCH":
            self.spec["suspend"] = True
        return self.job(), None
