# Written by tools/twins.py from the module of the same name in rayward.sdk.asynchronous, never edited.
"""Programs as RayJobs: start, follow, stop and start again."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from pathlib import Path

from rayward.changes import joblog, packing, running, stopping
from rayward.changes.intents import Intent
from rayward.changes.refs import Ref
from rayward.changes.running import Run
from rayward.changes.waiting import Waited
from rayward.kube.machinery.jsonvalue import Object
from rayward.sdk.blocking.connection import Connection


class Jobs(Connection):
    """Verbs of RayJobs."""

    def run(self, run: Run, *, name: str = "", working_dir: Path | packing.Package | None = None) -> Object:
        """Start a program as a RayJob of its own cluster, which goes when the program has ended.

        Args:
            run: The program, and what it runs on.
            name: Of the RayJob; by default the program's, with a suffix.
            working_dir: A folder of code that is uploaded, or what ``packing.pack`` made of it.

        Raises:
            Conflict: There is a RayJob of that name.
            Invalid: The folder is too large, or Ray would refuse the runtime environment.

        Examples:
            >>> from rayward.changes.running import Run
            >>> train = Run(("python", "train.py"), "rayproject/ray:2.60.0", "2.60.0", workers=2)
            >>> (client.run(train, name="train"))["spec"]["entrypoint"]
            'python train.py'
        """
        package = packing.pack(working_dir) if isinstance(working_dir, Path) else working_dir
        ref = Ref("RayJob", name or running.suggest_name(run.command, secrets.token_hex(3)[:5]), self.namespace)
        return self._run(running.start(ref, running.manifest(run, ref, package), package), ref)

    def follow(
        self, ref: Ref | str, write: Callable[[bytes], None], tell: Callable[[str], None] | None = None
    ) -> Waited:
        """Write the log of a RayJob as it grows, attempt after attempt, until it has ended.

        Args:
            ref: The RayJob.
            write: Takes the log in parts.
            tell: Called with what the job waits for.

        Raises:
            JobFailed: It failed or was stopped.

        Examples:
            >>> waited = client.follow("rayjob/j", lambda part: print(part.decode(), end=""))
            done
            >>> waited.verdict.reason
            'SUCCEEDED'
        """
        return self._run(joblog.follow(self._ref(ref), write, tell), ref)

    def job_log(self, ref: Ref | str, write: Callable[[bytes], None]) -> None:
        """Write the log of a RayJob's latest attempt: of the live cluster, or the end that was kept.

        Raises:
            NotFound: There is none.

        Examples:
            >>> client.job_log("rayjob/j", lambda part: print(part.decode(), end=""))
            done
        """
        self._run(joblog.show(self._ref(ref), write), ref)

    def stop(self, ref: Ref | str, *, timeout: float = 120.0) -> Object:
        """End a RayJob before its time; one that Ray does not have yet is suspended.

        Raises:
            WaitTimeout: It has not ended in time.

        Examples:
            >>> (client.stop("rayjob/j"))["status"]["jobDeploymentStatus"]
            'Complete'
        """
        return self._run(stopping.stop(self._ref(ref), timeout=timeout, manager=self.field_manager), ref)

    def rerun(self, ref: Ref | str, name: str = "", intents: Iterable[Intent] = ()) -> Object:
        """Start a RayJob like another one by a new name, changed as the intents say; the other one stays as it is.

        Raises:
            NotFound: It, a group that is named, or the code that was uploaded for it, is not there.
            Invalid: An intent contradicts the object.

        Examples:
            >>> from rayward.changes.intents import SetField
            >>> made = client.rerun("rayjob/j", intents=[SetField("entrypoint", "python other.py")])
            >>> made["metadata"]["name"], made["spec"]["entrypoint"]
            ('j-2', 'python other.py')
        """
        return self._run(running.rerun(self._ref(ref), name, intents), ref)
