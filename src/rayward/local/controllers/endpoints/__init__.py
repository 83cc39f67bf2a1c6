"""Where Services lead: their EndpointSlices, and the older Endpoints, made from the pods they select."""
