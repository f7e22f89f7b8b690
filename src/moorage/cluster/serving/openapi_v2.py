"""The answer to /openapi/v2, which takes a while to put together and hardly ever changes."""

from __future__ import annotations

from moorage.cluster.access.requests import JSON, Answer
from moorage.cluster.schema.definitions import Definitions
from moorage.cluster.schema.openapi_v2 import openapi_v2_document
from moorage.cluster.schema.protobuf.openapi import encode_openapi_v2
from moorage.cluster.serving.rendering import encode

_PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"


class OpenApiV2:
    def __init__(self, definitions: Definitions) -> None:
        self._definitions = definitions
        self._generation = -1
        self._bodies: dict[str, bytes] = {}

    def answer(self, accept: str) -> Answer:
        """The document in the form that is wanted: protobuf or JSON."""
        if self._generation != self._definitions.generation:
            self._generation = self._definitions.generation
            self._bodies = {}
        wanted = _PROTOBUF if _PROTOBUF in accept else JSON
        if wanted not in self._bodies:
            document = openapi_v2_document(self._definitions)
            self._bodies[wanted] = encode_openapi_v2(document) if wanted == _PROTOBUF else encode(document)
        return Answer(200, self._bodies[wanted], wanted.replace("@", "."))
