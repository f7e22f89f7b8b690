"""Sentences about decisions, made from the documents that tell of them."""

from moorage.insight.words.pods import words_for_pod
from moorage.insight.words.tries import words_for_try

__all__ = ["words_for_pod", "words_for_try"]
