"""Who manages which field of an object: a third of what an API server sends, and nothing to a scheduler.

kube-scheduler drops it from pods as they come in, too.
"""

from __future__ import annotations

_BEGIN = b',"managedFields":['
_END = b']},"spec":'


def without_managed_fields(source: bytes) -> bytes:
    """The JSON of an object without `metadata.managedFields`, if these stand where API servers put them.

    That is at the end of the metadata, right before the spec. Where there is any doubt, nothing is cut out:
    the entries hold no lists, and brackets in their strings are rare.
    """
    begin = source.find(_BEGIN)
    if begin < 0:
        return source
    end = source.find(b"]", begin)
    if not source.startswith(_END, end) or source.find(b"[", begin + len(_BEGIN), end) >= 0:
        return source
    return source[:begin] + source[end + 1 :]
