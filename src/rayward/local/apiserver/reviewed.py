"""The review that a request carries: an object that is answered and never stored."""

from __future__ import annotations

from rayward.kube.machinery.apply import track_update
from rayward.local.apiserver.behaviour import Object
from rayward.local.apiserver.core import Core
from rayward.local.apiserver.objects import metadata_of, stamp
from rayward.local.apiserver.options import write_options
from rayward.local.apiserver.request import Request
from rayward.local.apiserver.verbs.incoming import object_in


def asked(core: Core, request: Request) -> Object:
    """The review in a request, complete but for its answer."""
    options = write_options(request.query, request.agent, "CreateOptions")
    review = object_in(request, options)
    metadata = metadata_of(review)
    metadata.pop("resourceVersion", None)
    if request.namespace:
        metadata["namespace"] = request.namespace
    tracked, _owners = track_update(
        None,
        review,
        type=request.resource.behaviour.type,
        manager=options.manager,
        api_version=request.resource.api_version,
        now=stamp(core.clock()),
    )
    return tracked
