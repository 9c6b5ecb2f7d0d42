"""The Hub's error answers, each with its X-Error-Code and X-Error-Message."""

from __future__ import annotations

from tests.hub_emulator.messages import AnswerNow, json_answer, text_answer

ENTRY_NOT_FOUND = "Entry not found"
# huggingface_hub recognises these two by their text.
BAD_TOKEN = "Invalid credentials in Authorization header"
DISABLED = "Access to this resource is disabled."


def refuse(
    status: int, message: str, code: str | None = None, headers: dict[str, str] | None = None
) -> AnswerNow:
    """Return an error as JSON, its message repeated in the headers."""
    code_header = {"X-Error-Code": code} if code else {}
    return AnswerNow(
        json_answer(
            {"error": message},
            status,
            {**code_header, "X-Error-Message": message, **(headers or {})},
        )
    )


def bad_token() -> AnswerNow:
    """Answer 401 for a token that the Hub does not know."""
    return refuse(401, BAD_TOKEN)


def repo_not_found(authenticated: bool, anonymous_code: str | None) -> AnswerNow:
    """Refuse a repository that does not exist or is private: the Hub does not say which."""
    if authenticated:
        return refuse(404, "Repository not found", "RepoNotFound")
    return refuse(401, "Invalid username or password.", anonymous_code)


def gated(repo_id: str, authenticated: bool) -> AnswerNow:
    """Return the refusal of a gated repository's file to a token without access."""
    subject = f"Access to model {repo_id} is restricted"
    if authenticated:
        hint = f"Visit https://huggingface.co/{repo_id} to ask for access."
        message = f"{subject} and you are not in the authorized list. {hint}"
        return refuse(403, message, "GatedRepo")
    hint = "You must have access to it and be authenticated to access it. Please log in."
    return refuse(401, f"{subject}. {hint}", "GatedRepo")


def disabled() -> AnswerNow:
    """Return a file of a repository the Hub has switched off."""
    return refuse(403, DISABLED)


def revision_not_found(revision: str) -> AnswerNow:
    """Return a branch, tag or commit that does not exist."""
    return refuse(404, f"Invalid rev id: {revision}", "RevisionNotFound")


def entry_not_found(sha: str) -> AnswerNow:
    """Return a path that is not in the repository; the answer names the commit nonetheless."""
    headers = {
        "X-Error-Code": "EntryNotFound",
        "X-Error-Message": ENTRY_NOT_FOUND,
        "X-Repo-Commit": sha,
    }
    return AnswerNow(text_answer(404, ENTRY_NOT_FOUND, "text/plain; charset=utf-8", headers))


def route_not_found() -> AnswerNow:
    """Return a path that is no route of the Hub."""
    return refuse(404, "Sorry, we can't find the page you are looking for.")


def too_many_requests(seconds: int) -> AnswerNow:
    """Return a client that has used up its window; no Retry-After was seen on the Hub."""
    message = f"We had to rate limit you, you hit the quota. Retry in {seconds} seconds."
    return refuse(429, message)
