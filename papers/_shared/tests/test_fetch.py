"""Public data by their SHA-256, from a server of the test's own: what is kept, and what never is."""

import gzip
import hashlib
import importlib
import io
import socket
import tarfile
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from papers._shared.benchmarks import published_data
from papers._shared.benchmarks.fetch import SUMS, NotFetched, Published, fetched
from papers._shared.benchmarks.published_data import OF_PAPER, Data

EDGES = b"1 2\n2 3\n" * 500
DIGEST = hashlib.sha256(EDGES).hexdigest()
SECONDS = 60.0


class Handler(BaseHTTPRequestHandler):
    """Serves ``files``, ranges too; ``cut``: it hangs up after so many bytes of an answer."""

    files: dict[str, bytes]
    cut: int | None
    asked: list[tuple[str, str | None]]
    ranges: bool

    def do_GET(self):
        """Answer as a file server does."""
        wanted = self.headers.get("Range")
        self.asked.append((self.path, wanted))
        if self.path not in self.files:
            self.send_error(404)
            return
        body, begun = self.files[self.path], 0
        if wanted and self.ranges:
            begun = int(wanted.removeprefix("bytes=").removesuffix("-"))
            if begun >= len(body):
                self.send_error(416)
                return
        rest = body[begun:]
        self.send_response(206 if wanted and self.ranges else 200)
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        self.wfile.write(rest[: self.cut])

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def server():
    """A server and its address; what it does is set on its handler."""
    handler = type("Own", (Handler,), {"files": {"/e.txt": EDGES}, "cut": None, "asked": [], "ranges": True})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        handler.address = f"http://127.0.0.1:{running.server_port}"
        yield handler
        running.shutdown()
        thread.join()


def held(folder):
    """Every file of a folder, by its path."""
    return {str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file()}


def test_what_has_the_digest_is_kept_and_fetched_once(server, tmp_path):
    each = Published(f"{server.address}/e.txt", "graph/e.txt", DIGEST)
    assert "as expected" in fetched(each, tmp_path, SECONDS)
    assert (tmp_path / "graph/e.txt").read_bytes() == EDGES
    assert held(tmp_path) == {"graph/e.txt"}
    assert "is there" in fetched(each, tmp_path, SECONDS)
    assert len(server.asked) == 1


@pytest.mark.parametrize("form", ["plain", "gzip", "archive"])
def test_of_another_digest_nothing_is_kept(server, tmp_path, form):
    each = Published(f"{server.address}/e.txt", "graph/e.txt", "0" * 64, form)
    with pytest.raises(NotFetched, match=f"has SHA-256 {DIGEST}, and {'0' * 64} was expected"):
        fetched(each, tmp_path, SECONDS)
    assert not held(tmp_path)


def test_off_line_the_error_says_what_to_do(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/e.txt"  # nobody listens, and nobody else can
        said = r"is this machine on line\? the file may be put at .*graph/e\.txt"
        with pytest.raises(NotFetched, match=said):
            fetched(Published(url, "graph/e.txt", DIGEST), tmp_path, SECONDS)
    assert not held(tmp_path)


def test_a_file_that_has_moved_is_told(server, tmp_path):
    with pytest.raises(NotFetched, match="answers 404"):
        fetched(Published(f"{server.address}/gone.txt", "gone.txt"), tmp_path, SECONDS)
    assert not held(tmp_path)


@pytest.mark.parametrize("ranges", [True, False])
def test_what_was_cut_goes_on_where_a_digest_will_tell(server, tmp_path, ranges):
    each = Published(f"{server.address}/e.txt", "e.txt", DIGEST)
    server.cut, server.ranges = 1_000, ranges
    with pytest.raises(NotFetched):
        fetched(each, tmp_path, SECONDS)
    assert held(tmp_path) == {"e.txt.part"}
    server.cut = None
    fetched(each, tmp_path, SECONDS)
    assert (tmp_path / "e.txt").read_bytes() == EDGES
    assert server.asked[-1] == ("/e.txt", "bytes=1000-")


def test_a_whole_part_is_checked_and_a_wrong_one_begins_anew(server, tmp_path):
    each = Published(f"{server.address}/e.txt", "e.txt", DIGEST)
    part = tmp_path / "e.txt.part"
    part.write_bytes(EDGES)
    fetched(each, tmp_path, SECONDS)
    assert (tmp_path / "e.txt").read_bytes() == EDGES
    (tmp_path / "e.txt").unlink()
    part.write_bytes(b"another file's beginning")
    with pytest.raises(NotFetched, match="nothing is kept"):
        fetched(each, tmp_path, SECONDS)
    fetched(each, tmp_path, SECONDS)
    assert (tmp_path / "e.txt").read_bytes() == EDGES


def test_the_first_digest_is_told_and_holds_for_later(server, tmp_path):
    each = Published(f"{server.address}/e.txt", "e.txt")
    (tmp_path / "e.txt.part").write_bytes(b"of another day")  # nothing would tell that it does not fit
    assert DIGEST in fetched(each, tmp_path, SECONDS)
    assert server.asked == [("/e.txt", None)]
    assert (tmp_path / SUMS).read_text() == f"{DIGEST}  e.txt\n"
    (tmp_path / "e.txt").unlink()
    server.files = {"/e.txt": EDGES + b"4 5\n"}
    with pytest.raises(NotFetched, match=f"{DIGEST} was expected"):
        fetched(each, tmp_path, SECONDS)
    assert held(tmp_path) == {SUMS}


def test_a_text_is_kept_gzipped(server, tmp_path):
    fetched(Published(f"{server.address}/e.txt", "e.txt.gz", DIGEST, "gzip"), tmp_path, SECONDS)
    assert gzip.decompress((tmp_path / "e.txt.gz").read_bytes()) == EDGES


def packed(kind):
    """An archive with a file in a folder of it, and one that would leave its folder."""
    made, names = io.BytesIO(), ("inner/a.txt", "../../b.txt")
    if kind == "zip":
        with zipfile.ZipFile(made, "w") as whole:
            for name in names:
                whole.writestr(name, EDGES)
    else:
        with tarfile.open(fileobj=made, mode="w:gz") as whole:
            for name in names:
                info = tarfile.TarInfo(name)
                info.size = len(EDGES)
                whole.addfile(info, io.BytesIO(EDGES))
            link = tarfile.TarInfo("inner/link")
            link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
            whole.addfile(link)
    return made.getvalue()


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_an_archive_is_unpacked_into_its_place_alone(server, tmp_path, kind):
    server.files = {"/all": packed(kind)}
    folder = tmp_path / "data"
    fetched(Published(f"{server.address}/all", "days", form="archive"), folder, SECONDS)
    assert held(tmp_path) == {"data/days/a.txt", "data/days/b.txt", f"data/{SUMS}"}
    assert (folder / "days/b.txt").read_bytes() == EDGES


def test_what_is_no_archive_is_told(server, tmp_path):
    with pytest.raises(NotFetched, match="sent no archive"):
        fetched(Published(f"{server.address}/e.txt", "days", form="archive"), tmp_path, SECONDS)
    assert not held(tmp_path)


@pytest.mark.parametrize("paper", OF_PAPER)
def test_the_command_fetches_and_ends(server, tmp_path, monkeypatch, capsys, paper):
    files = (Published(f"{server.address}/e.txt", "e.txt", DIGEST),)
    data = Data(files, ("--graph mine={folder}",), {"Taobao": "behind an account"})
    monkeypatch.setitem(published_data.OF_PAPER, paper, data)
    main = importlib.import_module(f"papers.{paper}.benchmarks.reproduce").main
    with pytest.raises(SystemExit) as ended:
        main(["--fetch", str(tmp_path)])
    assert not ended.value.code
    told = capsys.readouterr().out
    assert f"to run: graphveil reproduce {paper} --graph mine={tmp_path}" in told
    assert "not fetched: Taobao: behind an account" in told
    (tmp_path / "e.txt").unlink()
    server.files = {}
    with pytest.raises(SystemExit) as ended:
        main(["--fetch", str(tmp_path)])
    assert ended.value.code == 2
    assert "answers 404" in capsys.readouterr().err


def test_every_paper_says_where_its_data_are():
    for data in OF_PAPER.values():
        assert data.files or data.elsewhere
        assert all(each.url.startswith("https://") for each in data.files)
        assert all(each.sha256 is None or len(bytes.fromhex(each.sha256)) == 32 for each in data.files)
        assert len({each.path for each in data.files}) == len(data.files)
