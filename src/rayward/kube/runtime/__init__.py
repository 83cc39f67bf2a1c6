"""What a controller is made of: caches that follow the server, a work queue, workers, leadership, events, metrics.

Decisions (``reflectorstate``, ``queue``, ``writes``, ``leader``, ``folding``) are plain functions and data structures
without a clock; the loops around them are thin. Clock and chance are handed in.
"""

from rayward.kube.runtime.cache import Cache
from rayward.kube.runtime.controller import Controller, Result
from rayward.kube.runtime.reflector import Reflector

__all__ = ["Cache", "Controller", "Reflector", "Result"]
