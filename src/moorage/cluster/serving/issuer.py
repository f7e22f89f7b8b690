"""What others need to check the tokens of service accounts by themselves: OpenID Connect discovery."""

from __future__ import annotations

from moorage.cluster.access.requests import Answer
from moorage.cluster.access.tokens import Tokens
from moorage.cluster.serving.rendering import encode

CONFIGURATION = "/.well-known/openid-configuration"
KEYS = "/openid/v1/jwks"
_KEY_SET = "application/jwk-set+json"


def issuer_answer(path: str, tokens: Tokens, host: str) -> Answer | None:
    """The answer at one of these two paths; None for all others. `host` is where the client found us."""
    if path == KEYS:
        return Answer(200, encode({"keys": [tokens.public_key()]}), _KEY_SET)
    if path != CONFIGURATION:
        return None
    server = f"https://{host}" if host else tokens.issuer
    told = {
        "issuer": tokens.issuer,
        "jwks_uri": f"{server}{KEYS}",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": [tokens.algorithm],
    }
    return Answer(200, encode(told))
