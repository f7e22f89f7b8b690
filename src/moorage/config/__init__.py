"""KubeSchedulerConfiguration: read, convert, complete, check and show it."""

from moorage.config.expand import expand, expand_all
from moorage.config.load import Loaded, load, load_file
from moorage.config.problems import ConfigError, ConfigProblem
from moorage.config.show import show
from moorage.config.types import KubeSchedulerConfiguration, Profile

__all__ = [
    "ConfigError",
    "ConfigProblem",
    "KubeSchedulerConfiguration",
    "Loaded",
    "Profile",
    "expand",
    "expand_all",
    "load",
    "load_file",
    "show",
]
