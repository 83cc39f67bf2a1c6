"""How a job is handed to Ray: as a request of the operator, or as the command of a submitter.

Commands are KubeRay's but for two things. What is put into them is quoted for the shell. And before it submits, the
submitter asks the head for its session and for the job: a pod that comes after the first one submits nothing to a head
that has begun anew, because the job may have run on the one before. Where the head does not answer it submits nothing
either, and fails: the Kubernetes Job's next pod asks again.
"""

from __future__ import annotations

import json
import shlex
from typing import Final

import msgspec

from rayward.kinds import runtimeenv
from rayward.kinds.rayjob import RayJobSpec
from rayward.operator.ray.jobs import Submission

SHELL: Final = ("/bin/bash", "-ce", "--")
GO: Final = 10
"""The exit code of the guard when the job is to be submitted. Python's own is 1, whatever went wrong."""
LOST: Final = 75
"""The exit code of a submitter that found another session than its own."""
_GUARD: Final = (
    "import json,os,sys,urllib.error,urllib.request as u\n"
    "a,i,s=sys.argv[1:]\n"
    "t=os.environ.get('RAY_AUTH_TOKEN')\n"
    "def get(p):\n"
    "    h={'x-ray-authorization':'Bearer '+t} if t else {}\n"
    "    return json.load(u.urlopen(u.Request(a+p,headers=h),timeout=30))\n"
    "try:\n"
    "    get('/api/jobs/'+i)\n"
    "except urllib.error.HTTPError as e:\n"
    "    if e.code!=404 or b'does not exist' not in e.read(): raise\n"
    "    n=get('/api/version')['session_name']\n"
    f"    sys.exit({GO} if s in ('',n) else print('Ray session',n,'is not',s,': job',i,'is lost') or {LOST})\n"
)
_HEALTHY: Final = (
    "import urllib.request; r=urllib.request.urlopen('http://localhost:{port}/api/gcs_healthz', timeout=10); "
    "exit(0 if b'success' in r.read() else 1)"
)


def request(spec: RayJobSpec, job_id: str) -> Submission:
    """What the operator sends in HTTPMode."""
    resources = msgspec.json.decode(spec.entrypoint_resources) if spec.entrypoint_resources else None
    return Submission(
        entrypoint=spec.entrypoint,
        submission_id=job_id,
        runtime_env=runtimeenv.parse(spec.runtime_env_yaml).value or None,
        metadata=spec.metadata or None,
        entrypoint_num_cpus=spec.entrypoint_num_cpus or None,
        entrypoint_num_gpus=spec.entrypoint_num_gpus or None,
        entrypoint_resources=resources or None,
    )


def job_command(spec: RayJobSpec, job_id: str, address: str, session: str) -> str:
    """Of the submitter's pod in K8sJobMode: submit what is not there yet, then follow the log to its end."""
    where, name = shlex.quote(address), shlex.quote(job_id)
    known = f"python -c {shlex.quote(_GUARD)} {where} {name} {shlex.quote(session)}"
    submit = f"ray job submit --address {where} --no-wait {_options(spec, job_id)} -- {spec.entrypoint.strip()}"
    return (
        f"known=0 ; {known} || known=$? ; "
        f"if [ $known -eq {GO} ] ; then {submit} ; elif [ $known -ne 0 ] ; then exit $known ; fi ; "
        f"ray job logs --address {where} --follow {name}"
    )


def sidecar_command(spec: RayJobSpec, job_id: str, port: int) -> str:
    """Of the container beside the head in SidecarMode; its pod runs once, so it submits once."""
    address = f"http://127.0.0.1:{port}"
    healthy = f"python -c {shlex.quote(_HEALTHY.format(port=port))} >/dev/null 2>&1"
    waiting = f'echo "Waiting for Ray Dashboard GCS to become healthy at {address} ..."'
    return (
        f"until {healthy} ; do {waiting} ; sleep 2 ; done ; "
        f"ray job submit --address {address} {_options(spec, job_id)} -- {spec.entrypoint.strip()} ;"
    )


def _options(spec: RayJobSpec, job_id: str) -> str:
    words: list[str] = []
    environment = runtimeenv.parse(spec.runtime_env_yaml).value
    if environment:
        words += ["--runtime-env-json", json.dumps(environment)]
    if spec.metadata:
        words += ["--metadata-json", json.dumps(spec.metadata)]
    words += ["--submission-id", job_id]
    if spec.entrypoint_num_cpus > 0:
        words += ["--entrypoint-num-cpus", f"{spec.entrypoint_num_cpus:f}"]
    if spec.entrypoint_num_gpus > 0:
        words += ["--entrypoint-num-gpus", f"{spec.entrypoint_num_gpus:f}"]
    if spec.entrypoint_resources:
        words += ["--entrypoint-resources", spec.entrypoint_resources]
    return shlex.join(words)
