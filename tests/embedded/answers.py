"""The same requests, byte by byte, to the embedded cluster's API server and to the real one."""

import contextlib
import http.client
import json
import ssl
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import yaml

from tests.embedded.comparing import Differences, Mask, Pair, mask, unlike

SECONDS = 30.0
TOGETHER = 16
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
_AGE = mask(r'"\d+s"', '"<age>"')
_HEAD = ("Content-Type", "Warning")


class Question(NamedTuple):
    path: str
    accept: str = "application/json"
    method: str = "GET"
    body: str = ""
    content_type: str = "application/json"

    def __str__(self) -> str:
        return f"{self.method} {self.path} ({self.accept})\n{self.body}".strip()


def get(*paths: str, accept: str = "application/json") -> list[Question]:
    return [Question(path, accept) for path in paths]


def post(path: str, body: Any, accept: str = "application/json") -> Question:
    return Question(path, accept, "POST", json.dumps(body))


def compare_answers(pair: Pair, questions: Iterable[Question], *masks: Mask) -> None:
    """Raises if any request is answered differently: by status, type, warnings or body.

    The body of a watch, which has to end by itself, is compared line by line. Who manages which fields is
    left out, and so are the descriptions of columns, which nobody shows. The requests are made together.
    """
    asked, masks = list(questions), (*masks, _AGE)
    with ThreadPoolExecutor(TOGETHER) as pool:
        ours, real = (pool.map(partial(_answer, file), asked) for file in pair.kubeconfigs)
        answers = list(zip(asked, ours, real, strict=True))
    found = (unlike(str(question), our, its, masks) for question, our, its in answers)
    if different := list(filter(None, found)):
        raise Differences("\n".join(["", *different]))


def _answer(kubeconfig: Path, question: Question) -> str:
    config = yaml.safe_load(kubeconfig.read_text())
    server, token = config["clusters"][0]["cluster"]["server"], config["users"][0]["user"]["token"]
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    connection = http.client.HTTPSConnection(urlsplit(server).netloc, timeout=SECONDS, context=context)
    headers = {"Authorization": f"Bearer {token}", "Accept": question.accept, "User-Agent": "test"}
    if question.body:
        headers["Content-Type"] = question.content_type
    with contextlib.closing(connection):
        connection.request(question.method, question.path, question.body.encode() or None, headers)
        answer = connection.getresponse()
        body = answer.read().decode()
    head = [f"{name}: {value}" for name, value in answer.getheaders() if name.title() in _HEAD]
    return "\n".join([str(answer.status), *sorted(head), *map(_plain, _documents(body))])


def _documents(body: str) -> list[str]:
    try:
        json.loads(body)
        return [body]
    except ValueError:
        return body.splitlines()


def _plain(text: str) -> str:
    try:
        return json.dumps(_compared(json.loads(text)), indent=1, sort_keys=True)
    except ValueError:
        return text


def _compared(value: Any) -> Any:
    if isinstance(value, list):
        return [_compared(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "columnDefinitions" in value:
        columns = value["columnDefinitions"] or ()
        value = {**value, "columnDefinitions": [{**column, "description": ""} for column in columns]}
    return {name: _compared(item) for name, item in value.items() if name != "managedFields"}
