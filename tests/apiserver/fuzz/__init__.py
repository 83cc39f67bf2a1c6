"""Generated requests: what our own OpenAPI allows and forbids, as it is, put into place, or grafted onto good objects.

``subjects`` lists what is served, ``tame`` turns generated cases into requests, ``judge`` says what an answer must be,
``session`` sends and counts.
"""
