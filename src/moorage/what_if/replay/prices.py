"""Prices of nodes: per hour, by a label."""

from __future__ import annotations

from pathlib import Path

import yaml

from moorage.what_if.replay.setting_up import BadJob

Price = tuple[str, float]
"""A label `key=value`, and the price per hour of the nodes that have it."""


def read_prices(text: str) -> list[Price]:
    """What `KEY=VALUE=PRICE` stands for, or the name of a YAML file; raises BadJob.

    In the file are the keys of labels, below each its values, and the price of each value.
    """
    label, _, price = text.rpartition("=")
    if "=" in label:
        return [(label, _number(price, f"--price {text}"))]
    path = Path(text)
    try:
        document = yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader)
    except OSError as error:
        raise BadJob(f"--price {text}: {error.strerror}; write KEY=VALUE=PRICE or name a YAML file") from None
    except yaml.YAMLError as error:
        raise BadJob(f"{path}: is no YAML: {' '.join(str(error).split())}") from None
    remedy = "write the key of a label, below it each value with its price"
    if not isinstance(document, dict):
        raise BadJob(f"{path}: has no prices; {remedy}")
    prices: list[Price] = []
    for key, values in document.items():
        if not isinstance(values, dict):
            raise BadJob(f"{path}: {key}: has no values; {remedy}")
        prices += [
            (f"{key}={value}", _number(price, f"{path}: {key}: {value}")) for value, price in values.items()
        ]
    return prices


def _number(text: object, place: str) -> float:
    try:
        number = float(str(text))
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise BadJob(f"{place}: {text!r} is no price per hour; give a number from 0 on")
    return number
