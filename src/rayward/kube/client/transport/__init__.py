"""Ways to carry a request to an API server and its answer back.

``base`` says what a transport is; ``aio`` is aiohttp, ``blocking`` the standard library (for the command line),
``recording`` is for tests. Nothing is imported here: each costs start-up time.
"""
