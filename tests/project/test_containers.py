"""The compose file and the Dockerfile, as far as they can be judged without a container engine."""

import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.settings import Settings
from tools.dockerfile import Build, is_ignored, parse, read_ignore_file

ROOT = Path(__file__).parents[2]
OURS = {"migrate", "api", "worker"}
ELSEWHERE = {
    "BOOKPRINT_DATA_DIR",
    "BOOKPRINT_ADMIN_KEY",
    "BOOKPRINT_ADMIN_KEY_FILE",
    "BOOKPRINT_WORKERS",
    "BOOKPRINT_AUTH",
}
"""Settings of the image or of one container; workers are containers of their own."""


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))


def test_compose_file_fits_the_compose_specification() -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    check = subprocess.run(
        [*command, "docker-compose.yml"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert check.returncode == 0, check.stdout + check.stderr


def test_compose_schema_refuses_a_misspelt_key(tmp_path: Path) -> None:
    broken = tmp_path / "docker-compose.yml"
    broken.write_text("services: {api: {image: bookprint, dependson: [redis]}}\n")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    assert subprocess.run([*command, str(broken)], capture_output=True, check=False).returncode == 1


def test_nothing_is_published_beyond_loopback(compose: dict[str, Any]) -> None:
    ports = [port for service in compose["services"].values() for port in service.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_every_server_has_a_health_check(compose: dict[str, Any]) -> None:
    services = compose["services"]
    assert services["postgres"]["healthcheck"]["test"]
    assert services["redis"]["healthcheck"]["test"]
    # the API's is the image's own
    assert "healthcheck" not in services["api"]


def test_migration_runs_once_and_before_everything_that_needs_the_schema(compose: dict[str, Any]) -> None:
    services = compose["services"]
    assert services["migrate"]["restart"] == "no"
    assert services["migrate"]["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    for name in ("api", "worker"):
        assert services[name]["depends_on"]["migrate"] == {"condition": "service_completed_successfully"}
        assert services[name]["depends_on"]["redis"] == {"condition": "service_healthy"}


def test_dependencies_and_volumes_exist(compose: dict[str, Any]) -> None:
    for service in compose["services"].values():
        assert set(service.get("depends_on", {})) <= set(compose["services"])
        assert {volume.split(":")[0] for volume in service.get("volumes", [])} <= set(compose["volumes"])


def test_containers_of_ours_have_no_rights_to_spare(compose: dict[str, Any]) -> None:
    for name in OURS:
        service = compose["services"][name]
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert "user" not in service
        assert not service.get("privileged")


def test_compiled_kernels_live_in_the_image_and_never_outlive_it(compose: dict[str, Any]) -> None:
    mounted = [v for name in OURS for v in compose["services"][name].get("volumes", []) if "numba" in v]
    assert mounted == []


def test_passwords_come_from_the_environment(compose: dict[str, Any]) -> None:
    for service in compose["services"].values():
        for name, value in service.get("environment", {}).items():
            is_secret = "PASSWORD" in name or name.endswith("_KEY")
            assert not is_secret or re.fullmatch(r"\$\{\w+:\?[^}]+\}", value), "a secret without a default"
            assert not re.search(r"://[^/@:]+:[^/@]+@", value or "")


def test_requests_need_a_key_which_the_api_alone_knows(compose: dict[str, Any]) -> None:
    services = compose["services"]
    assert services["api"]["environment"]["BOOKPRINT_AUTH"] == "keys"
    knowing = [name for name in services if "BOOKPRINT_ADMIN_KEY" in services[name].get("environment", {})]
    assert knowing == ["api"]


def test_every_setting_that_the_file_does_not_fix_reaches_the_containers(compose: dict[str, Any]) -> None:
    settings = {field.alias or name for name, field in Settings.model_fields.items()} - ELSEWHERE
    for name in OURS:
        environment = compose["services"][name]["environment"]
        assert settings - environment.keys() == set()
        passed_on = {variable for variable, value in environment.items() if value is None}
        assert passed_on <= settings


def test_servers_are_reached_by_containers_of_ours_alone(compose: dict[str, Any]) -> None:
    assert compose["networks"] == {"servers": {"internal": True}}
    services = compose["services"]
    assert services["postgres"]["networks"] == services["redis"]["networks"] == ["servers"]
    assert all("ports" not in services[name] for name in ("postgres", "redis"))


def test_processes_of_a_container_are_bounded(compose: dict[str, Any]) -> None:
    assert all(service["pids_limit"] <= 512 for service in compose["services"].values())


def test_images_of_ours_are_named_by_the_version(compose: dict[str, Any]) -> None:
    assert {compose["services"][name]["image"] for name in OURS} == {f"bookprint:{version('bookprint')}"}


def test_redis_never_evicts(compose: dict[str, Any]) -> None:
    command = compose["services"]["redis"]["command"]
    assert command[command.index("--maxmemory-policy") + 1] == "noeviction"


def test_image_ends_as_an_unprivileged_user_with_a_health_check() -> None:
    steps = parse((ROOT / "Dockerfile").read_text(encoding="utf-8"))
    last_stage = steps[max(i for i, step in enumerate(steps) if step.word == "FROM") :]
    users = [step.rest for step in last_stage if step.word == "USER"]
    assert users
    assert users[-1].split(":")[0] not in ("root", "0")
    [health] = [step for step in last_stage if step.word == "HEALTHCHECK"]
    assert "/health/ready" in health.rest
    assert health.command[0] == "python"


def test_image_installs_pins_with_hashes_and_names_its_base() -> None:
    steps = parse((ROOT / "Dockerfile").read_text(encoding="utf-8"))
    installs = [step.rest for step in steps if step.word == "RUN" and "pip install" in step.rest]
    assert all("--require-hashes" in install or "--no-deps" in install for install in installs)
    assert all(re.search(r":[\w.-]*\d", step.rest) for step in steps if step.word == "FROM")
    assert not [step for step in steps if step.word == "ADD"]


def test_build_context_holds_the_program_and_nothing_else() -> None:
    rules = read_ignore_file(ROOT / ".dockerignore")
    taken = [
        "app",
        "app/core/model.py",
        "client/bookprint_client/answers.py",
        "workers/tasks.py",
        "migrations/env.py",
        "requirements-run.lock",
    ]
    left = [
        ".git",
        ".env",
        ".venv/bin/python",
        "data/postgres",
        "tests/conftest.py",
        "app/core/__pycache__/a.pyc",
    ]
    assert [path for path in taken if is_ignored(path, rules)] == []
    assert [path for path in left if not is_ignored(path, rules)] == []


def test_dockerfile_runner_keeps_one_path_across_stages(tmp_path: Path) -> None:
    context = tmp_path / "context"
    (context / "kept").mkdir(parents=True)
    (context / "kept" / "a.txt").write_text("a")
    (context / "kept" / "b.log").write_text("b")
    (context / ".dockerignore").write_text("**/*.log\n")
    steps = parse(
        "FROM base:1 AS build\n"
        "# a comment\n"
        "WORKDIR /opt/x\n"
        "COPY kept kept\n"
        "ENV GREETING=hello\n"
        'RUN echo "$GREETING" > /opt/x/said \\\n'
        "    && test ! -e kept/b.log\n"
        "FROM base:1\n"
        "COPY --from=build /opt/x /opt/x\n"
        "ENV PATH=/opt/x/bin:$PATH\n"
        'CMD ["sh", "-c", "cat /opt/x/said"]\n'
    )
    build = Build(context, tmp_path / "image")
    stage = build.run(steps)
    assert (tmp_path / "image/root/opt/x/said").read_text() == "hello\n"
    assert (tmp_path / "image/root/opt/x/kept/a.txt").read_text() == "a"
    assert stage.environment["PATH"].startswith(f"{tmp_path}/image/root/opt/x/bin:")
    assert stage.command is not None
    assert build.execute(stage.command.command).wait() == 0


def test_dockerfile_runner_stops_where_a_step_fails(tmp_path: Path) -> None:
    build = Build(tmp_path, tmp_path / "image")
    with pytest.raises(SystemExit, match="status 3"):
        build.run(parse("FROM base:1\nRUN exit 3\nRUN touch /opt/reached\n"))
    assert not (tmp_path / "image/root/opt/reached").exists()
