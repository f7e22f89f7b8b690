"""What surrounds every call of a plugin: exceptions become Error statuses, answers get the plugin's name."""

from __future__ import annotations

import logging

from moorage.framework.extension_points import Plugin
from moorage.framework.status import Status

log = logging.getLogger(__name__)


def failure(error: Exception) -> Status:
    """An exception from a plugin as a status. The traceback goes to the log at debug level."""
    log.debug("a plugin raised", exc_info=error)
    if not str(error):
        return Status.error(type(error).__name__)
    return Status.error(cause=error)


def named(status: Status, plugin: Plugin) -> Status:
    return status.by(plugin.name)
