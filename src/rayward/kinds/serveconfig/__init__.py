"""Ray Serve's configuration as users write it: YAML or an object, Ray's words or camelCase, read into what Ray takes.

Pure: nothing is imported, fetched or run. Everything wrong is told at once, with line and column inside the text.
"""

from rayward.kinds.serveconfig.config import ServeConfig, parse
from rayward.kinds.serveconfig.finding import Finding, ServeConfigError
from rayward.kinds.serveconfig.keys import RAY_VERSION

__all__ = ["RAY_VERSION", "Finding", "ServeConfig", "ServeConfigError", "parse"]
