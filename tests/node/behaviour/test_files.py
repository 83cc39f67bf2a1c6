"""The files that a pod sees."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from rayward.kube.client.options import PatchType
from rayward.kube.core.resource import CONFIG_MAPS, PERSISTENT_VOLUME_CLAIMS, SECRETS, Resource
from tests.node.machine import Machine, sh
from tests.waiting import eventually

_VOLUMES: Final = Resource("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False)


def test_files_of_the_machine_can_be_read_and_not_written(machine: Machine) -> None:
    said = machine.output(
        sh("ls /usr/bin/env; touch /usr/x 2>&1 || true; mount -o remount,rw /usr 2>&1 | grep -c denied")
    )
    assert "/usr/bin/env\n" in said
    assert "Read-only file system" in said
    assert said.endswith("1\n")


_SETTING: Final = "/proc/sys/vm/swappiness"
_ANOTHER_PROC: Final = f"unshare -Urpfm sh -c 'mount -t proc proc /proc && cat {_SETTING} > {_SETTING}'"


def cannot_change_the_kernel(machine: Machine) -> None:
    """What /proc shows of the machine can be read from a container, where it is no secret, and not written."""
    closed = [name for name in ("bus", "fs", "irq", "sys", "sysrq-trigger") if Path("/proc", name).exists()]
    secret = [name for name in ("acpi", "kcore", "keys", "scsi", "timer_list") if Path("/proc", name).exists()]
    said = machine.output(
        sh(
            f'for name in {" ".join(closed)}; do grep -o " /proc/$name ro" /proc/self/mountinfo; done;'
            f" for name in {' '.join(secret)}; do ls -A /proc/$name/ 2>/dev/null || head -c 9 /proc/$name; done;"
            f" cat {_SETTING}; ({_ANOTHER_PROC}) 2>/dev/null || echo no other"
        )
    )
    assert said.splitlines() == [
        *(f" /proc/{name} ro" for name in closed),
        Path(_SETTING).read_text().strip(),
        "no other",
    ]


def test_the_kernels_settings_can_be_read_and_not_written(machine: Machine) -> None:
    cannot_change_the_kernel(machine)
    said = machine.output(sh(f"v=$(cat {_SETTING}); (echo $v > {_SETTING}) 2>&1; test -r /proc/self/maps && echo own"))
    assert "Read-only file system" in said
    assert said.endswith("own\n")


def test_the_project_folder_can_be_written(machine: Machine, project: Path) -> None:
    machine.output(sh(f"echo made > {project}/by-a-pod"))
    assert (project / "by-a-pod").read_text() == "made\n"


def test_home_and_tmp_are_the_pods_own(machine: Machine) -> None:
    script = "ls /tmp/a $HOME/b /var/tmp/c 2>/dev/null; touch /tmp/a $HOME/b /var/tmp/c && cd && pwd"
    assert machine.output(sh(script)).split() == ["/home/ray"]
    assert machine.output(sh(script)).split() == ["/home/ray"]


def test_what_belongs_to_the_node_is_hidden(machine: Machine, project: Path) -> None:
    # The test's folder is under /tmp, of which pods have their own; a hidden folder and file elsewhere are the proof.
    said = machine.output(
        sh(f"ls {machine.folder} 2>/dev/null; ls -A {project}/hidden; cat {project}/secret; echo end")
    )
    assert said == "end\n"
    assert (project / "hidden" / "x").exists()


def test_shared_memory_is_sized_and_shared_by_the_pods_containers(machine: Machine) -> None:
    name = machine.run(
        sh("df -m /dev/shm | tail -1 | awk '{print $2}'; echo from-first > /dev/shm/x; sleep 600"),
        sh("until cat /dev/shm/x 2>/dev/null; do sleep 0.1; done; sleep 600"),
    )
    machine.until_ready(name)
    eventually(lambda: machine.log(name) == "64\n" and machine.log(name, "c1") == "from-first\n")
    machine.delete(name)


def test_shared_memory_follows_the_memory_limit(machine: Machine) -> None:
    said = machine.output(sh("df -m /dev/shm | tail -1 | awk '{print $2}'", resources={"limits": {"memory": "200Mi"}}))
    assert said == "200\n"


def test_an_empty_folder_is_shared_and_outlives_a_container(machine: Machine) -> None:
    mount = {"volumeMounts": [{"name": "work", "mountPath": "/work"}]}
    name = machine.run(
        sh("echo run >> /work/runs; cat /work/runs | wc -l; test $(cat /work/runs | wc -l) -ge 2", **mount),
        restartPolicy="OnFailure",
        volumes=[{"name": "work", "emptyDir": {}}],
    )
    machine.until_phase(name, "Succeeded")
    assert machine.log(name) == "2\n"
    assert machine.container(name)["restartCount"] == 1


def test_an_empty_folder_in_memory(machine: Machine) -> None:
    said = machine.output(
        sh(
            "stat -f -c %T /cache; df -m /cache | tail -1 | awk '{print $2}'",
            volumeMounts=[{"name": "m", "mountPath": "/cache"}],
        ),
        volumes=[{"name": "m", "emptyDir": {"medium": "Memory", "sizeLimit": "32Mi"}}],
    )
    assert said == "tmpfs\n32\n"


def test_an_empty_folder_keeps_the_mode_that_its_pod_gave_it(machine: Machine) -> None:
    plain = machine.config_map(v="one")
    name = machine.run(
        sh(
            "chmod 700 /work; while true; do echo $(cat /etc/app/v) $(stat -c %a /work); sleep 0.1; done",
            volumeMounts=[{"name": "work", "mountPath": "/work"}, {"name": "v", "mountPath": "/etc/app"}],
        ),
        volumes=[{"name": "work", "emptyDir": {}}, {"name": "v", "configMap": {"name": plain}}],
    )
    eventually(lambda: machine.log(name, tailLines=1) == "one 700\n")
    machine.client.patch(CONFIG_MAPS, plain, {"data": {"v": "two"}}, PatchType.MERGE, "default")
    eventually(lambda: "two" in machine.log(name, tailLines=1))
    assert machine.log(name, tailLines=1) == "two 700\n"
    machine.delete(name)


def test_a_config_map_as_files(machine: Machine) -> None:
    plain = machine.config_map(**{"a.txt": "first", "b.txt": "second"})
    said = machine.output(
        sh("cd /etc/app; ls; cat a.txt; stat -L -c %a a.txt", volumeMounts=[{"name": "v", "mountPath": "/etc/app"}]),
        volumes=[{"name": "v", "configMap": {"name": plain, "defaultMode": 0o600}}],
    )
    assert said == "a.txt\nb.txt\nfirst600\n"


def test_chosen_keys_of_a_secret_at_chosen_places(machine: Machine) -> None:
    hidden = machine.secret(user="me", password="pw")
    said = machine.output(
        sh(
            "cd /creds; find . -type f -o -type l | grep -v '\\.\\.' ; cat deep/p",
            volumeMounts=[{"name": "v", "mountPath": "/creds"}],
        ),
        volumes=[{"name": "v", "secret": {"secretName": hidden, "items": [{"key": "password", "path": "deep/p"}]}}],
    )
    assert said == "./deep\npw\n"


def test_changes_of_a_config_map_reach_the_pod(machine: Machine) -> None:
    plain = machine.config_map(v="one")
    name = machine.run(
        sh(
            "while true; do cat /etc/app/v; echo; sleep 0.1; done",
            volumeMounts=[{"name": "v", "mountPath": "/etc/app"}],
        ),
        volumes=[{"name": "v", "configMap": {"name": plain}}],
    )
    machine.until_ready(name)
    machine.client.patch(CONFIG_MAPS, plain, {"data": {"v": "two"}}, PatchType.MERGE, "default")
    eventually(lambda: "two" in machine.log(name, tailLines=1))
    machine.delete(name)


def test_files_made_from_objects_cannot_be_written(machine: Machine) -> None:
    label = {"items": [{"path": "k", "fieldRef": {"fieldPath": "metadata.name"}}]}
    volumes = [
        {"name": "map", "configMap": {"name": machine.config_map(k="v")}},
        {"name": "secret", "secret": {"secretName": machine.secret(k="v")}},
        {"name": "labels", "downwardAPI": label},
        {"name": "mixed", "projected": {"sources": [{"downwardAPI": label}]}},
    ]
    script = """
for folder in /v/map /v/secret /v/labels /v/mixed /var/run/secrets/kubernetes.io/serviceaccount; do
    (echo hacked > $folder/..data/k) 2>&1; ln -sfn /usr/lib $folder/..data 2>&1; touch $folder/new 2>&1
done; true
"""
    mounts = [{"name": volume["name"], "mountPath": f"/v/{volume['name']}"} for volume in volumes]
    said = machine.output(sh(script, volumeMounts=mounts), volumes=volumes).splitlines()
    assert len(said) == 15
    assert all("Read-only file system" in line for line in said), said


def test_a_missing_volume_source_is_an_event_and_is_waited_for(machine: Machine) -> None:
    name = machine.run(
        sh("cat /v/k", volumeMounts=[{"name": "v", "mountPath": "/v"}]),
        volumes=[{"name": "v", "secret": {"secretName": "not-yet"}}],
    )
    message = machine.until_event(name, "FailedMount")
    assert message == 'MountVolume.SetUp failed for volume "v" : secret "not-yet" not found'
    assert machine.state(name)["waiting"]["reason"] == "ContainerCreating"
    machine.make(SECRETS, {"metadata": {"name": "not-yet"}, "stringData": {"k": "here"}})
    machine.until_phase(name, "Succeeded")
    assert machine.log(name) == "here\n"


def test_a_part_of_a_volume(machine: Machine) -> None:
    plain = machine.config_map(**{"app.conf": "x=1"})
    said = machine.output(
        sh(
            "cat /etc/app.conf; ls /usr/share/extra",
            volumeMounts=[
                {"name": "v", "mountPath": "/etc/app.conf", "subPath": "app.conf"},
                {"name": "w", "mountPath": "/usr/share/extra", "subPathExpr": "$(WHO)/data"},
            ],
            env=[{"name": "WHO", "value": "me"}],
        ),
        volumes=[{"name": "v", "configMap": {"name": plain}}, {"name": "w", "emptyDir": {}}],
    )
    assert said == "x=1\n"


def test_a_part_of_a_volume_in_memory(machine: Machine) -> None:
    said = machine.output(
        sh("stat -f -c %T /part; echo kept > /part/f; cat /whole/a/b/f", volumeMounts=_IN_MEMORY),
        volumes=[{"name": "m", "emptyDir": {"medium": "Memory"}}],
    )
    assert said == "tmpfs\nkept\n"


_IN_MEMORY: Final = [
    {"name": "m", "mountPath": "/whole"},
    {"name": "m", "mountPath": "/part", "subPath": "a/b"},
]


def test_a_part_that_leads_out_of_its_volume_makes_nothing_outside(machine: Machine, project: Path) -> None:
    outside = project / "outside"
    mount = {"name": "w", "mountPath": "/w", "subPathExpr": "$(WHERE)"}
    name = machine.run(
        sh("true", volumeMounts=[mount], env=[{"name": "WHERE", "value": f"../../../../../../../..{outside}"}]),
        volumes=[{"name": "w", "emptyDir": {}}],
    )
    assert machine.until_waiting(name, "CreateContainerConfigError").endswith("must not contain '..'")
    machine.delete(name)
    assert not outside.exists()


def test_a_link_in_a_volume_leads_no_part_out_of_it(machine: Machine, project: Path) -> None:
    inside = {"volumeMounts": [{"name": "w", "mountPath": "/w"}]}
    through = {"volumeMounts": [{"name": "w", "mountPath": "/w", "subPath": "link/made"}]}
    name = machine.run(
        sh("true", **through),
        volumes=[{"name": "w", "emptyDir": {}}],
        initContainers=[{**sh(f"ln -s {project} /w/link", **inside), "name": "first"}],
    )
    assert "leads out of the volume" in machine.until_waiting(name, "CreateContainerConfigError")
    machine.delete(name)
    assert not (project / "made").exists()


def test_a_link_in_a_volume_in_memory_leads_no_part_out_of_it(machine: Machine, project: Path) -> None:
    # The node cannot look into such a volume: only the pod's own namespace shows what is in it.
    inside = {"volumeMounts": [{"name": "w", "mountPath": "/w"}]}
    through = {"volumeMounts": [{"name": "w", "mountPath": "/w", "subPath": "link"}]}
    name = machine.run(
        sh("touch /w/made", **through),
        volumes=[{"name": "w", "emptyDir": {"medium": "Memory"}}],
        initContainers=[{**sh(f"ln -s {project} /w/link", **inside), "name": "first"}],
    )
    machine.until_phase(name, "Failed")
    assert "leads out of the volume" in machine.state(name)["terminated"]["message"]
    assert not (project / "made").exists()


def test_a_read_only_mount(machine: Machine) -> None:
    said = machine.output(
        sh("touch /work/x 2>&1 || true", volumeMounts=[{"name": "w", "mountPath": "/work", "readOnly": True}]),
        volumes=[{"name": "w", "emptyDir": {}}],
    )
    assert "Read-only file system" in said


def test_a_folder_of_the_machine(machine: Machine, project: Path) -> None:
    place = project / "host" / "path"
    machine.output(
        sh("echo 1 > /h/f", volumeMounts=[{"name": "h", "mountPath": "/h"}]),
        volumes=[{"name": "h", "hostPath": {"path": str(place), "type": "DirectoryOrCreate"}}],
    )
    assert (place / "f").read_text() == "1\n"


def test_a_folder_of_the_machine_is_made_where_its_kind_is_not_told(machine: Machine, project: Path) -> None:
    place = project / "host" / "untold"
    machine.output(
        sh("echo 1 > /h/f", volumeMounts=[{"name": "h", "mountPath": "/h"}]),
        volumes=[{"name": "h", "hostPath": {"path": str(place)}}],
    )
    assert (place / "f").read_text() == "1\n"


def _claim(machine: Machine, name: str, **spec: Any) -> dict[str, Any]:
    """A claim, and what a pod says to mount it."""
    resources = {"requests": {"storage": "1Gi"}}
    body = {"metadata": {"name": name}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": resources, **spec}}
    machine.make(PERSISTENT_VOLUME_CLAIMS, body)
    return {"volumes": [{"name": "s", "persistentVolumeClaim": {"claimName": name}}]}


_MOUNTED: Final = {"volumeMounts": [{"name": "s", "mountPath": "/data/gcs"}]}


def test_a_claim_is_a_folder_that_stays(machine: Machine) -> None:
    claim = _claim(machine, "store")
    machine.output(sh("echo kept > /data/gcs/f", **_MOUNTED), **claim)
    assert machine.output(sh("cat /data/gcs/f", **_MOUNTED), **claim) == "kept\n"
    held = machine.client.get(PERSISTENT_VOLUME_CLAIMS, "store", "default")
    assert held["status"]["phase"] == "Bound"
    assert (machine.folder / "claims" / "default" / held["spec"]["volumeName"] / "f").read_text() == "kept\n"


def test_a_claim_that_a_pod_only_reads(machine: Machine) -> None:
    claim = _claim(machine, "library")
    claim["volumes"][0]["persistentVolumeClaim"]["readOnly"] = True
    said = machine.output(sh("touch /data/gcs/f 2>&1 || true", **_MOUNTED), **claim)
    assert "Read-only file system" in said


def test_a_claim_of_the_same_name_begins_empty(machine: Machine) -> None:
    first = machine.run(sh("echo old > /data/gcs/f", **_MOUNTED), **_claim(machine, "again"))
    machine.until_phase(first, "Succeeded")
    machine.delete(first)
    machine.until_gone(first)
    machine.client.delete(PERSISTENT_VOLUME_CLAIMS, "again", "default")
    eventually(lambda: "again" not in _claims(machine))
    script = "ls -A /data/gcs; echo new > /data/gcs/f; cat /data/gcs/f"
    assert machine.output(sh(script, **_MOUNTED), **_claim(machine, "again")) == "new\n"


def _claims(machine: Machine) -> list[str]:
    return [claim["metadata"]["name"] for claim in machine.client.list(PERSISTENT_VOLUME_CLAIMS, "default").items]


def test_a_pod_waits_until_its_claim_is_bound(machine: Machine, tmp_path: Path) -> None:
    claim = _claim(machine, "waiting", storageClassName="")
    name = machine.run(sh("cat /data/gcs/f", **_MOUNTED), **claim)
    message = machine.until_event(name, "FailedScheduling")
    assert message.startswith("0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims.")
    assert machine.status(name)["phase"] == "Pending"
    placed = machine.run(sh("cat /data/gcs/f", **_MOUNTED), **claim, nodeName=machine.node)
    assert machine.until_event(placed, "FailedMount").endswith("PVC default/waiting: PVC is not bound")
    (tmp_path / "f").write_text("by hand\n")
    reference = {"namespace": "default", "name": "waiting"}
    spec = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "claimRef": reference}
    machine.make(_VOLUMES, {"metadata": {"name": "own"}, "spec": {**spec, "hostPath": {"path": str(tmp_path)}}})
    machine.client.patch(
        PERSISTENT_VOLUME_CLAIMS, "waiting", {"spec": {"volumeName": "own"}}, PatchType.MERGE, "default"
    )
    for waited in (name, placed):
        machine.until_phase(waited, "Succeeded")
        assert machine.log(waited) == "by hand\n"


def test_a_pod_waits_for_a_claim_that_is_not_there_yet(machine: Machine) -> None:
    name = machine.run(
        sh("echo found", **_MOUNTED), volumes=[{"name": "s", "persistentVolumeClaim": {"claimName": "late"}}]
    )
    assert 'persistentvolumeclaim "late" not found' in machine.until_event(name, "FailedScheduling")
    _claim(machine, "late")
    machine.until_phase(name, "Succeeded")


def test_the_service_account_at_its_usual_place(machine: Machine) -> None:
    said = machine.output(
        sh("cd /var/run/secrets/kubernetes.io/serviceaccount; ls; cat namespace; echo; head -1 ca.crt; wc -c < token")
    )
    assert said.splitlines()[:5] == ["ca.crt", "namespace", "token", "default", "-----BEGIN CERTIFICATE-----"]
    assert int(said.splitlines()[5]) > 100


def test_labels_as_a_file(machine: Machine) -> None:
    items = [
        {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}},
        {"path": "cpu", "resourceFieldRef": {"containerName": "c", "resource": "limits.cpu", "divisor": "1m"}},
    ]
    said = machine.output(
        sh(
            "cat /i/labels; echo; cat /i/cpu",
            volumeMounts=[{"name": "i", "mountPath": "/i"}],
            resources={"limits": {"cpu": "250m"}},
        ),
        volumes=[{"name": "i", "downwardAPI": {"items": items}}],
        metadata={"labels": {"a": "1", "b": "two"}},
    )
    assert said == 'a="1"\nb="two"\n250\n'


def test_a_kind_of_volume_that_is_not_supported_is_named(machine: Machine) -> None:
    name = machine.run(
        sh("true", volumeMounts=[{"name": "n", "mountPath": "/n"}]),
        volumes=[{"name": "n", "nfs": {"server": "s", "path": "/p"}}],
    )
    assert 'volumes of kind "nfs" are not supported' in machine.until_event(name, "FailedMount")


def test_a_read_only_root(machine: Machine) -> None:
    said = machine.output(
        sh("touch /x 2>&1 || true; touch /tmp/y && echo tmp", securityContext={"readOnlyRootFilesystem": True})
    )
    assert "Read-only file system" in said
    assert said.endswith("tmp\n")
