"""The first rule that fits; the evidence itself where none does."""

from __future__ import annotations

from dataclasses import dataclass

from rayward.changes.judging import State
from rayward.changes.why.evidence import Evidence, judged
from rayward.changes.why.rules import RULES
from rayward.changes.why.sizes import notes
from rayward.kube.machinery.jsonvalue import Object, entries, section

UNKNOWN = "Unknown"
NOTHING = "AsAsked"
RUNNING = "Running"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Why an object is as it is.

    Attributes:
        code: The rule's name; ``AsAsked`` where nothing is wrong, ``Unknown`` where no rule fits.
        cause: In one sentence.
        evidence: The lines that show it.
        following: What to run next.
    """

    code: str
    cause: str
    evidence: tuple[str, ...] = ()
    following: str = ""

    def document(self) -> Object:
        return {"code": self.code, "cause": self.cause, "evidence": list(self.evidence), "next": self.following}


def explain(evidence: Evidence) -> Diagnosis:
    """The cause that the evidence shows."""
    for rule in RULES:
        if rule.kinds and evidence.ref.kind not in rule.kinds:
            continue
        found = rule.find(evidence)
        if found is not None:
            subject = {"ref": str(evidence.ref), "name": evidence.ref.name, **found.words}
            return Diagnosis(
                rule.code, rule.cause.format(**subject), found.lines, rule.following.format(**subject).strip()
            )
    ref = evidence.ref
    verdict = judged(evidence)
    if verdict.state is State.APPLIED:
        return Diagnosis(NOTHING, f"{ref} is as its spec asks", (str(verdict), *notes(evidence)))
    if ref.kind == "RayJob" and evidence.status.get("jobStatus") == "RUNNING":
        message = evidence.condition("Reconciling").get("message") or "jobStatus is RUNNING"
        return Diagnosis(RUNNING, f"{ref} is running; nothing blocks it", (str(message),), f"rayward logs -f {ref}")
    return Diagnosis(
        UNKNOWN, f"no rule knows why {ref} is {verdict.reason}", tuple(_all(evidence)), f"rayward describe {ref}"
    )


def _all(evidence: Evidence) -> list[str]:
    lines = [
        f"{one.get('type')}={one.get('status')} {one.get('reason')}: {one.get('message') or ''}".rstrip(": ")
        for one in entries(evidence.status, "conditions")
    ]
    lines += [
        f"pod {section(pod, 'metadata').get('name')} is {section(pod, 'status').get('phase')}" for pod in evidence.pods
    ]
    lines += [f"event {one.get('reason')}: {one.get('message')}" for one in evidence.events[-5:]]
    return lines or ["it has no conditions, pods or warnings"]
