"""A system behind an OpenAI-compatible chat endpoint, with the corrections in its context."""

import email.message
import hashlib
import http.client
import json
import os
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any

from coverjax.corrections.systems import AnswerError, UnavailableError
from coverjax.foundation.checks import InputError, shown

INSTRUCTION = (
    "You will be given corrections, one a message. Take each as true. Then you will be asked a question: "
    "answer it in a few sentences, using what you were told."
)
NOTED = "Noted."
"""What the assistant is taken to have said after each correction: many endpoints want turns to alternate."""

ITS_OWN_FAULT = (400, 413, 422)
"""Statuses about this very request (a context that is too long, say): a failed snapshot."""

TRY_AGAIN = (408, 409, 425, 429, 500, 502, 503, 504)

LONGEST_WAIT = 60.0
LONGEST_ANSWER = 1 << 24


class ChatSystem:
    """A chat model that is taught in its context: POST {url}/chat/completions.

    Nothing is sent while it is taught. A probe sends an instruction, each turn as a user's message with a
    fixed acknowledgement, and the probe: temperature 0, with a seed. `surface` is the answer, `vault_hits`
    None, `trace_hash` a hash of request and answer, empty where the answer is.

    A busy or silent endpoint is tried again after 1, 2, 4, .. seconds, or what Retry-After says; when all
    tries are used, or it refuses (a wrong key, an unknown model), `UnavailableError` ends the run, which
    can be resumed. A request that it can't answer (400, 413, 422) is a failed snapshot.

    Args:
        url: address of the API, such as http://127.0.0.1:8000/v1.
        model: name of the model.
        key_variable: environment variable that holds the key, sent as a bearer token where it is set; the key
            itself enters no record.
        timeout: seconds to wait for an answer.
        retries: tries after the first.
        seed: sent as `seed`; None: not sent.
        temperature: sent as `temperature`.
        max_tokens: sent as `max_tokens`; None: not sent.
        instruction: the system's message; empty: none is sent.
        sleep: waits so many seconds; for tests.
    """

    def __init__(
        self,
        url: str,
        model: str,
        key_variable: str = "OPENAI_API_KEY",
        timeout: float = 60.0,
        retries: int = 4,
        seed: int | None = 0,
        temperature: float = 0.0,
        max_tokens: int | None = None,
        instruction: str = INSTRUCTION,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._address = _address(url)
        self._retries, self._timeout, self._sleep = retries, timeout, sleep
        self._key = os.environ.get(key_variable, "").strip()
        asked = {"model": model, "temperature": temperature, "seed": seed, "max_tokens": max_tokens}
        self._asked = {name: value for name, value in asked.items() if value is not None}
        self._messages = [{"role": "system", "content": instruction}] if instruction else []

    def teach(self, text: str) -> tuple[bool, str]:
        """Put a turn into the context."""
        self._messages.append({"role": "user", "content": text})
        self._messages.append({"role": "assistant", "content": NOTED})
        return True, ""

    def probe(self, text: str) -> Mapping[str, Any]:
        """Send the context and the probe, and return the answer."""
        request = {**self._asked, "messages": [*self._messages, {"role": "user", "content": text}]}
        body = json.dumps(request, sort_keys=True).encode()
        surface = _content(self._send(body))
        trace = hashlib.sha256(body + b"\x1f" + surface.encode("utf-8", "backslashreplace")).hexdigest()
        return {"surface": surface, "vault_hits": None, "trace_hash": trace if surface.strip() else ""}

    def _send(self, body: bytes) -> bytes:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        for attempt in range(self._retries + 1):
            request = urllib.request.Request(self._address, data=body, headers=headers, method="POST")
            try:
                with _OPENER.open(request, timeout=self._timeout) as response:
                    return response.read(LONGEST_ANSWER)
            except urllib.error.HTTPError as error:
                wait, why = self._refused(error), f"status {error.code}"
            except (urllib.error.URLError, http.client.HTTPException, OSError) as error:
                wait, why = None, str(getattr(error, "reason", "") or error or type(error).__name__)
            if attempt < self._retries:
                self._sleep(min(2.0**attempt if wait is None else wait, LONGEST_WAIT))
        raise UnavailableError(
            f"{self._address} gave no answer in {self._retries + 1} tries; the last: {why}"
        )

    def _refused(self, error: urllib.error.HTTPError) -> float | None:
        """Return how long to wait before the next try, or raise where there is no use in one."""
        said = " ".join(error.read(2_000).decode("utf-8", "replace").split())[:200]
        if error.code in ITS_OWN_FAULT:
            raise AnswerError(f"the endpoint refused the request: status {error.code}; {said}")
        if error.code not in TRY_AGAIN:
            raise UnavailableError(f"{self._address} refuses: status {error.code}; {said}")
        return _retry_after(error.headers)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would take the key along to another place: it is an error instead."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirect)


def _address(url: str) -> str:
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise InputError(
            f"url: must be the http(s) address of an API, such as http://127.0.0.1:8000/v1; got {shown(url)}"
        )
    return url.rstrip("/") + "/chat/completions"


def _retry_after(headers: "email.message.Message | None") -> float | None:
    """Seconds that the endpoint asks to wait; a date, which is allowed too, is not read."""
    value = "" if headers is None else headers.get("Retry-After", "")
    try:
        return max(float(value), 0.0)
    except ValueError:
        return None


def _content(answer: bytes) -> str:
    """Return the text of the first choice; text in parts is joined.

    Raises:
        AnswerError: there is none.
    """
    try:
        content = json.loads(answer)["choices"][0]["message"]["content"]
        if isinstance(content, list):
            content = "".join(part["text"] for part in content if part.get("type") == "text")
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise AnswerError(
            f"the endpoint's answer must hold choices[0].message.content; {type(error).__name__}: {error}"
        ) from None
    if content is None:
        return ""
    if not isinstance(content, str):
        raise AnswerError(f"the endpoint's answer must be text; got {shown(content)}")
    return content
