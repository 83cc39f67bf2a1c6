"""RayJobs: one attempt after another, each on a cluster of its own, and a status that is true to what Ray said.

``table`` says what to do in every situation, ``decide`` turns that into a status and actions, ``children`` builds the
objects. All of it is pure.
"""
