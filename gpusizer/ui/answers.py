"""Answers: what programs ask, answered with the rights of the caller, whichever way they ask."""

from __future__ import annotations

from collections.abc import Callable

from gpusizer.answers.sizer import Sizer
from gpusizer.answers.use_cases import Fields
from gpusizer.core.work_turns import TURNS
from gpusizer.hub.snapshot import Fetch
from gpusizer.text import Language
from gpusizer.ui.answer_cache import Answer, AnswerCache, answer_for_one

ForVisitor = Callable[[str], Fetch]
"""Takes a visitor's Hub token and returns a fetcher that reads with that visitor's rights."""


class Answers:
    """Answers public questions: from the cache that all callers share, or for one visitor alone."""

    def __init__(self, sizer: Sizer, for_visitor: ForVisitor, cache: AnswerCache) -> None:
        self._sizer = sizer
        self._for_visitor = for_visitor
        self.cache = cache

    def ask(
        self, question: str, fields: Fields, token: str | None, language: Language = "en"
    ) -> Answer:
        """Answer a question, named as its command is. Raises any GpusizerError.

        An answer that was read with a visitor's token is never cached.
        """
        with TURNS.computing():
            if token is None:
                return self.cache.answer(question, fields, language)
            sizer = self._sizer.reading(self._for_visitor(token))
            return answer_for_one(sizer, question, fields, language)
