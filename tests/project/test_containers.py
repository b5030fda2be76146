"""The compose file and the Dockerfile, as far as their text says; `.ci/image` builds and starts the image."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.settings import Settings

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


def test_containers_of_ours_have_no_rights_to_spare(compose: dict[str, Any]) -> None:
    for name in OURS:
        service = compose["services"][name]
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert service["read_only"]
        assert "user" not in service
        assert not service.get("privileged")


def test_every_folder_that_is_written_to_is_a_named_volume_or_memory(compose: dict[str, Any]) -> None:
    [volume] = re.findall(r"^VOLUME (\S+)$", "\n".join(steps()), re.MULTILINE)
    for name in OURS:
        service = compose["services"][name]
        # one without a name stays behind each time the containers are removed
        assert [mount.split(":")[1] for mount in service["volumes"]] == [volume]
        assert service["tmpfs"] == ["/tmp"]
        # `serve` locks its data folder, and the volume is shared by all
        assert service["environment"]["BOOKPRINT_DATA_DIR"].startswith("/tmp/")


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
    assert compose["networks"] == {"default": {}, "servers": {"internal": True}}
    services = compose["services"]
    assert services["postgres"]["networks"] == services["redis"]["networks"] == ["servers"]
    assert all("ports" not in services[name] for name in ("postgres", "redis"))


def test_processes_of_a_container_are_bounded(compose: dict[str, Any]) -> None:
    assert all(service["pids_limit"] <= 512 for service in compose["services"].values())


def test_redis_never_evicts(compose: dict[str, Any]) -> None:
    command = compose["services"]["redis"]["command"]
    assert command[command.index("--maxmemory-policy") + 1] == "noeviction"


def test_image_ends_as_an_unprivileged_user_with_a_health_check() -> None:
    last_stage = "\n".join(steps()).rpartition("FROM ")[2]
    users = re.findall(r"^USER (\w+)", last_stage, re.MULTILINE)
    assert users
    assert users[-1] not in ("root", "0")
    assert re.search(r"^HEALTHCHECK .*/health/ready", last_stage, re.MULTILINE)


def test_image_installs_pins_with_hashes_and_names_its_base() -> None:
    commands = [command for step in steps() if step.startswith("RUN ") for command in step.split("&&")]
    from_index = [command for command in commands if re.search(r"pip\b.* (install|wheel) ", command)]
    assert from_index
    assert all("--require-hashes" in command or "--no-deps" in command for command in from_index)
    assert all(re.search(r":[\w.-]*\d", step) for step in steps() if step.startswith("FROM "))
    assert not [step for step in steps() if step.startswith("ADD ")]


def test_build_context_holds_what_is_copied_and_nothing_else() -> None:
    rules = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    copied = [
        source
        for step in steps()
        if step.startswith("COPY ") and "--from=" not in step
        for source in step.split()[1:-1]
    ]
    assert rules[0] == "*"
    assert sorted(rule.removeprefix("!") for rule in rules if rule.startswith("!")) == sorted(copied)


def steps() -> list[str]:
    """The instructions of the Dockerfile, each a line."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return re.sub(r"\s*\\\n\s*", " ", "\n".join(lines)).splitlines()
