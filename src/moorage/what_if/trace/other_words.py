"""Other words for names: the same for the same, in a form that means the same to a scheduler."""

from __future__ import annotations

import base64
import hashlib
import re

from moorage.api.devices import DEVICE_CLASS_PREFIX
from moorage.api.in_tree_volumes import SUCCESSORS
from moorage.api.names import is_label_value, is_qualified_name
from moorage.contrib.objects import GROUP_LABEL

_KEPT_WORDS = frozenset(
    {
        "",
        *("true", "false", "linux", "windows", "amd64", "arm64"),
        *("default", "kube-system", "kube-public", "kube-node-lease"),
        *("system-cluster-critical", "system-node-critical"),
    }
)
_KEPT_KEYS = frozenset(
    {
        "metadata.name",  # a field, in terms about nodes
        *("kubernetes.io/hostname", "kubernetes.io/os", "kubernetes.io/arch", "kubernetes.io/metadata.name"),
        *("beta.kubernetes.io/os", "beta.kubernetes.io/arch", "beta.kubernetes.io/instance-type"),
        *("pod-template-hash", "controller-revision-hash", "statefulset.kubernetes.io/pod-name"),
        *("apps.kubernetes.io/pod-index", "batch.kubernetes.io/job-completion-index"),
        *("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"),
        *(successor.zone_key for successor in SUCCESSORS if successor.zone_key),
        GROUP_LABEL,
    }
)
_KEPT_KEY_PREFIXES = ("topology.kubernetes.io", "failure-domain.beta.kubernetes.io", "node.kubernetes.io")
_KEPT_DRIVERS = frozenset(name for each in SUCCESSORS for name in (each.in_tree, each.driver))
_KEPT_VENDORS = frozenset(
    {"nvidia.com", "amd.com", "intel.com", "gpu.intel.com", "habana.ai", "google.com", "aws.amazon.com"}
)
_ATTACHABLE = "attachable-volumes-csi-"
_KEPT_IN_PATHS = frozenset({"", "aws:", "projects", "zones", "regions", "disks", "UNSPECIFIED"})
_KEPT_ADDRESSES = frozenset({"", "0.0.0.0", "127.0.0.1", "::"})
_NUMBER = re.compile(r"(0*)([0-9]{1,18})", re.ASCII)
_CLOUD_ZONE = re.compile(r"[a-z]+-[a-z]+[0-9]+-[a-z]")
_LONGEST_LABEL_VALUE = 63
_MOST_REMEMBERED = 1 << 16


class OtherWords:
    """Makes them with a secret key: without it nobody can find one out by trying what it could stand for."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._known: dict[str, str] = {}
        self._factor = 2 + int.from_bytes(self._digest("factor")[:4]) % 998
        self._offset = int.from_bytes(self._digest("offset")[:4]) % 1_000_000

    def word(self, text: str) -> str:
        """For names and the values of labels: the same word wherever the text stands.

        What could be the value of a label still can, and what could not still cannot.
        """
        found = self._known.get(text)
        if found is None:
            if len(self._known) >= _MOST_REMEMBERED:
                self._known.clear()
            found = self._known[text] = self._word(text)
        return found

    def key(self, text: str) -> str:
        """For the keys of labels and taints; those that Kubernetes gives a meaning to stay."""
        prefix, slash, name = text.partition("/")
        if text == "" or text in _KEPT_KEYS or (slash and prefix in _KEPT_KEY_PREFIXES):
            return text
        if not is_qualified_name(text):
            return f"{self._token(text)}."
        return f"{self._token(prefix)}/{self._token(name)}" if slash else self._token(text)

    def resource(self, text: str) -> str:
        """For names of resources; those of Kubernetes itself and of well-known makers of devices stay."""
        prefix, slash, _ = text.partition("/")
        if text.startswith(DEVICE_CLASS_PREFIX):
            return DEVICE_CLASS_PREFIX + self.word(text.removeprefix(DEVICE_CLASS_PREFIX))
        if text.startswith(_ATTACHABLE):
            return _ATTACHABLE + self.driver(text.removeprefix(_ATTACHABLE))
        if not slash or prefix in _KEPT_VENDORS or f".{prefix}".endswith(".kubernetes.io"):
            return text
        return self.key(text)

    def driver(self, text: str) -> str:
        """For CSI drivers and provisioners; those that took over from built-in ones stay."""
        kept = text in _KEPT_DRIVERS or text.startswith("kubernetes.io/")
        return text if kept else self.word(text)

    def image(self, text: str) -> str:
        """For images: a tag stays a tag, a digest stays a digest, and `latest` is what it was."""
        if not text:
            return text
        name, at, digest = text.partition("@")
        base, tag = (name.rsplit(":", 1)) if name.rfind(":") > name.rfind("/") else (name, None)
        made = self._token(base)
        if tag is not None:
            made += f":{tag if tag == 'latest' else self._token(tag)}"
        return f"{made}@sha256:{hashlib.sha256(self._digest(digest)).hexdigest()}" if at else made

    def path(self, text: str) -> str:
        """For the ids of volumes, which may have parts that mean something."""
        return "/".join(part if part in _KEPT_IN_PATHS else self._volume(part) for part in text.split("/"))

    def address(self, text: str) -> str:
        return text if text in _KEPT_ADDRESSES else self._token(text)

    def _volume(self, text: str) -> str:
        return f"vol-{self._token(text)}" if text.startswith("vol-") else self.word(text)

    def _word(self, text: str) -> str:
        if text in _KEPT_WORDS:
            return text
        number = _NUMBER.fullmatch(text)
        if number is not None:
            # Labels are compared as numbers, too: the order stays.
            zeros, digits = number.groups()
            return f"{zeros}{self._number(int(digits))}"
        if _CLOUD_ZONE.fullmatch(text):
            return "-".join(map(self._token, text.split("-")))
        token = self._token(text)
        if len(text) > _LONGEST_LABEL_VALUE:
            return (token * _LONGEST_LABEL_VALUE)[: _LONGEST_LABEL_VALUE + 1]
        return token if is_label_value(text) else f"{token}."

    def _number(self, number: int) -> int:
        steep, gentle = min(number, 10**12), max(0, number - 10**12)
        return self._offset + self._factor * steep + gentle

    def _token(self, text: str) -> str:
        """Begins with a letter, so that it can never be read as a number."""
        return "x" + base64.b32encode(self._digest(text)[:10]).decode().lower().rstrip("=")[:12]

    def _digest(self, text: str) -> bytes:
        return hashlib.blake2b(text.encode(errors="surrogatepass"), key=self._key, digest_size=16).digest()
