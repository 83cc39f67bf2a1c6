"""Services without loss: every Service answers in the network of the pods and on this machine's loopback.

An ordinary API client. ``python -m rayward.local.traffic --kubeconfig K --data-dir D``, where D is the folder of the
node, whose sandbox host hands out sockets in the pods' network; ``D/traffic-ready`` appears when all services answer.
A second process of the same folder is the standby: it holds the same listening sockets and serves once the first is
gone (``listeners``, ``standby``), so that no client is refused when one of them is killed.

Where a service answers:

- in pods at its cluster IP and ports, by name at 10.43.0.10 (``dns``);
- in the user's shell at an address that follows from the Service alone (``rayward.local.addresses``): 127.43.a.b for
  the cluster IP x.y.a.b, ports below 1024 moved up by 10000. Where such a port is taken, the annotation
  ``rayward.dev/shell-ports`` says which port it is instead;
- at 127.0.0.1 and its node port; if that is taken, an Event says by whom. A load balancer has its shell address.

Ports for Serve (named ``serve`` or ``serve-...``, ``appProtocol: http``, or 8000) choose a backend for every HTTP
request, others for every connection. On a Service,
``rayward.dev/backends: '[{"service": "a", "weight": 90}, {"service": "b", "weight": 10}]'``
divides its traffic between the endpoints of other Services of its namespace.

What an operator may rely on, for Services with a port for Serve: the annotation ``rayward.dev/serving`` lists the pods
that get new requests, ``rayward.dev/draining`` those that left and still have some in flight. Both are written
together, and only when they change. So an old pod may go once it is in neither, and no earlier.

The address of a page that counts requests, answers, failures and what is in flight, for Prometheus, is in
``D/traffic-metrics.json``.
"""
