"""What kube-controller-manager does, as far as it is needed here.

Garbage collection, deletion of namespaces, the objects that every cluster and every namespace has, the end of old
Events, where Services lead, Jobs, and claims. Each is an ordinary client of the API and knows nothing of the server
behind it.
"""

from rayward.local.controllers.run import Controllers
from rayward.local.controllers.standard import Published

__all__ = ["Controllers", "Published"]
