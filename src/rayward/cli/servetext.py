"""``serveConfigV2`` as an object is what people write; as text is what every client can read."""

from __future__ import annotations

from rayward.cli.failure import Code, CommandError
from rayward.cli.output import tell
from rayward.kinds.serveconfig import ServeConfigError, parse
from rayward.kube.machinery.jsonvalue import Object, is_object, section

_FIELD = "serveConfigV2"


def with_serve_text(service: Object, *, quiet: bool = False) -> Object:
    """A RayService whose serve config is text, as typed clients expect; one that is text already stays as it is.

    Raises:
        CommandError: The object is not a Serve config.
    """
    spec = section(service, "spec")
    given = spec.get(_FIELD)
    if not is_object(given):
        return service
    version = section(spec, "rayClusterConfig").get("rayVersion")
    try:
        text = parse(given, str(version or "")).text
    except ServeConfigError as error:
        what = f"spec.{_FIELD} is not a Serve config"
        raise CommandError(Code.INVALID, what, str(error), "correct it and apply again") from error
    if not quiet:
        tell(f"spec.{_FIELD} is an object: stored as the text that means the same, for clients that know only text")
    return {**service, "spec": {**spec, _FIELD: text}}
