"""The chat system against a stub server on loopback."""

import http.server
import json
import threading
import time

import pytest

from coverjax.corrections import ChatSystem, run
from coverjax.corrections.systems import AnswerError, UnavailableError
from coverjax.foundation.checks import InputError


class Stub(http.server.ThreadingHTTPServer):
    """Answers from a list of replies, or with everything that the user said; keeps what it was sent."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.replies = []
        self.seen = []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}/v1/"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.seen.append((self.path, dict(self.headers), body))
        said = [message["content"] for message in body["messages"] if message["role"] == "user"]
        reply = self.server.replies.pop(0) if self.server.replies else content(" ".join(said[:-1]))
        status, headers, text = reply() if callable(reply) else reply
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text if isinstance(text, bytes) else json.dumps(text).encode())

    def log_message(self, *args):
        pass


def content(text):
    return 200, {}, {"choices": [{"message": {"content": text}}]}


@pytest.fixture
def stub(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    server = Stub()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def system(stub, **options):
    slept = []
    built = ChatSystem(stub.url, "tiny", sleep=slept.append, **options)
    return built, slept


def test_corrections_go_into_the_context_and_the_answer_comes_back(stub, make_cases):
    settings = {"url": stub.url, "model": "tiny", "seed": 4, "max_tokens": 50}
    found = run(make_cases(1, seed="Begin."), "chat", settings=settings, workers=0)
    assert found.hits.tolist() == [[0, 1, 2, 3, 4]]
    assert found.replay_determinism == 1.0
    assert found.records[0]["curve"][0]["vault_hits"] is None
    path, headers, body = stub.seen[2]
    assert path == "/v1/chat/completions"
    assert "Authorization" not in headers
    assert {name: body[name] for name in ("model", "temperature", "seed", "max_tokens")} == {
        "model": "tiny",
        "temperature": 0.0,
        "seed": 4,
        "max_tokens": 50,
    }
    assert [message["role"] for message in body["messages"]] == ["system", *["user", "assistant"] * 2, "user"]
    assert [message["content"] for message in body["messages"][1::2]] == [
        "Begin.",
        "A c0 is red.",
        "What is c0?",
    ]


def test_the_key_comes_from_the_environment_and_enters_no_record(stub, monkeypatch, make_cases):
    monkeypatch.setenv("MY_KEY", "very-secret")
    settings = {"url": stub.url, "model": "tiny", "key_variable": "MY_KEY"}
    found = run(make_cases(1, 1), "chat", settings=settings, workers=0)
    assert stub.seen[0][1]["Authorization"] == "Bearer very-secret"
    assert "very-secret" not in json.dumps([found.records, found.provenance])


def test_a_busy_endpoint_is_tried_again_and_retry_after_is_heard(stub):
    built, slept = system(stub)
    stub.replies = [
        (503, {}, b""),
        (429, {"Retry-After": "7"}, b""),
        (500, {"Retry-After": "soon"}, b""),
        content("ok"),
    ]
    assert built.probe("?")["surface"] == "ok"
    assert slept == [1.0, 7.0, 4.0]


def test_a_silent_endpoint_ends_in_unavailable_after_all_tries(stub):
    def late():
        time.sleep(0.4)
        return content("late")

    built, slept = system(stub, timeout=0.1, retries=2)
    stub.replies = [late] * 3
    with pytest.raises(UnavailableError, match=r"gave no answer in 3 tries; the last: .*timed out"):
        built.probe("?")
    assert slept == [1.0, 2.0]


def test_nobody_there(stub):
    free = ChatSystem("http://127.0.0.1:1/v1", "tiny", retries=0)
    with pytest.raises(UnavailableError, match="gave no answer in 1 tries"):
        free.probe("?")


@pytest.mark.parametrize("status", [401, 404, 302])
def test_a_refusal_ends_the_run_at_once_and_no_redirect_takes_the_key_along(stub, status):
    built, slept = system(stub)
    stub.replies = [(status, {"Location": stub.url + "elsewhere"}, b"wrong key")]
    with pytest.raises(UnavailableError, match=f"refuses: status {status}; wrong key"):
        built.probe("?")
    assert slept == []
    assert len(stub.seen) == 1


def test_a_request_that_can_not_be_answered_is_a_failed_snapshot(stub, make_cases):
    stub.replies = [content("x"), content("x"), (400, {}, b"too long"), (400, {}, b"too long")]
    settings = {"url": stub.url, "model": "tiny"}
    found = run(make_cases(1, 2), "chat", settings=settings, workers=0)
    assert found.failed.tolist() == [[False, True, False]]
    assert "status 400; too long" in found.records[0]["curve"][1]["error"]
    assert found.hits.tolist() == [[0, 0, 2]]


@pytest.mark.parametrize(
    "answer", [b"no json", {}, {"choices": []}, {"choices": [{"message": {"content": 3}}]}, [1]]
)
def test_an_answer_without_text_is_a_fault(stub, answer):
    built, _ = system(stub)
    stub.replies = [(200, {}, answer)]
    with pytest.raises(AnswerError, match="the endpoint's answer must"):
        built.probe("?")


def test_empty_text_has_no_trace_hash_and_parts_are_joined(stub):
    built, _ = system(stub, instruction="")
    parts = [{"type": "text", "text": "a "}, {"type": "image"}, {"type": "text", "text": "b"}]
    stub.replies = [content(None), content(parts)]
    assert built.probe("?") == {"surface": "", "vault_hits": None, "trace_hash": ""}
    assert built.probe("?")["surface"] == "a b"
    assert [message["role"] for message in stub.seen[0][2]["messages"]] == ["user"]


def test_an_unavailable_endpoint_keeps_what_is_finished(stub, make_cases, tmp_path):
    path = tmp_path / "records.jsonl"
    settings = {"url": stub.url, "model": "tiny"}
    stub.replies = [content("x")] * 5 + [(403, {}, b"quota")]
    with pytest.raises(InputError, match=r"must be reachable; .* 1 of 3 records are kept: resume the run"):
        run(make_cases(3, 1), "chat", settings=settings, workers=0, journal=path)
    found = run(make_cases(3, 1), "chat", settings=settings, workers=0, journal=path, resume=True)
    assert found.hits[1:].tolist() == [[0, 1], [0, 1]]


def test_workers_reach_it_too(stub, make_cases):
    settings = {"url": stub.url, "model": "tiny"}
    found = run(make_cases(2, 1), "chat", settings=settings, workers=2)
    assert found.hits.tolist() == [[0, 1], [0, 1]]
    stub.replies = [(403, {}, b"quota")] * 8
    with pytest.raises(InputError, match=r"system: must be reachable; .*status 403; quota"):
        run(make_cases(2, 1), "chat", settings=settings, workers=2)


@pytest.mark.parametrize("url", ["file:///etc/passwd", "localhost:8000", "ftp://x/v1", "http://"])
def test_an_address_that_is_none(url):
    with pytest.raises(InputError, match=r"url: must be the http\(s\) address of an API"):
        ChatSystem(url, "tiny")
