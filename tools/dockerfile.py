"""Runs a Dockerfile's own steps in a clean folder, where no container engine is at hand.

Every stage is built in `root`, so that an absolute path means the same in all of them. A finished stage is
moved to `stages/NAME`, where `COPY --from` finds it. Paths under `/opt`, `/etc` and `/home` are rewritten
into that root; the rest of the machine stands in for the base image. Accounts are made in the root's own
`/etc/passwd`. COPY takes only what the .dockerignore lets through.

What this cannot show: that the base image has all that the steps call, and how a container isolates them.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import Template

RELOCATED = re.compile(r"(?<![\w./-])/(?=(?:opt|etc|home)/)")
IGNORED_STEPS = {"EXPOSE", "LABEL", "STOPSIGNAL", "VOLUME"}


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction of a Dockerfile, its continuation lines joined."""

    word: str  # upper case, as "RUN"
    rest: str

    @property
    def flags(self) -> dict[str, str]:
        """The leading `--name=value` words."""
        words = self.rest.split()
        leading = words[: next((i for i, word in enumerate(words) if not word.startswith("--")), len(words))]
        return {name: value for name, _, value in (word[2:].partition("=") for word in leading)}

    @property
    def operands(self) -> str:
        """What follows the flags."""
        return re.sub(r"^(--\S+\s+)+", "", self.rest)

    @property
    def command(self) -> list[str]:
        """The arguments of an instruction that runs something, in its shell or its JSON form."""
        text = self.operands.removeprefix("CMD ") if self.word == "HEALTHCHECK" else self.operands
        return list(json.loads(text)) if text.startswith("[") else ["/bin/sh", "-c", text]


def parse(text: str) -> list[Step]:
    """The instructions of a Dockerfile in order; comments and blank lines are left out."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    joined = re.sub(r"\s*\\\n\s*", " ", "\n".join(lines))
    return [
        Step(word.upper(), rest.strip())
        for word, _, rest in (line.partition(" ") for line in joined.splitlines())
    ]


@dataclass(slots=True)
class Stage:
    """What the steps so far have set up for the next one."""

    name: str
    folder: str = "/"
    user: int | None = None  # whom its processes run as; None: our own
    environment: dict[str, str] = field(default_factory=dict)
    healthcheck: Step | None = None
    command: Step | None = None


class Build:
    """A Dockerfile's stages, built one after another from a folder of sources."""

    def __init__(self, context: Path, folder: Path) -> None:
        self._context = context
        self._ignored = read_ignore_file(context / ".dockerignore")
        self._folder = folder
        self._root = folder / "root"
        self._stage: Stage | None = None

    def run(self, steps: list[Step]) -> Stage:
        """Run all steps and return the last stage, which lies in the root; raises where a step fails."""
        for step in steps:
            print(f"--> {step.word} {step.rest}", flush=True)
            if step.word == "FROM":
                self._begin(step, len(list((self._folder / "stages").glob("*"))))
            elif step.word not in IGNORED_STEPS:
                getattr(self, f"_{step.word.lower()}")(step)
        return self.stage

    @property
    def stage(self) -> Stage:
        """The stage under way."""
        if self._stage is None:
            raise ValueError("A Dockerfile begins with FROM.")
        return self._stage

    def relocate(self, text: str) -> str:
        """The text with the image's own paths moved into the root."""
        return RELOCATED.sub(f"{self._root}/", text)

    def environment(self) -> dict[str, str]:
        """The variables that a process of the stage sees."""
        python = Path(sys.executable).resolve().parent
        base = {
            "PATH": f"{python}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
            "HOME": str(self._root / "home"),
        }
        # how this machine reaches its package index belongs to the machine, as a builder's proxy settings do
        network = {
            name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "HTTP"))
        }
        return network | base | self.stage.environment

    def execute(
        self, command: Sequence[str], extra: Mapping[str, str] | None = None, *, quiet: bool = False
    ) -> subprocess.Popen[bytes]:
        """Start a command as a process of the stage: its folder, its variables and, as root, its user."""
        uid = self.stage.user
        folder = Path(self.relocate(self.stage.folder)) if self.stage.folder != "/" else self._root
        return subprocess.Popen(
            [self.relocate(word) for word in command],
            cwd=folder,
            env=self.environment() | dict(extra or {}),
            stdout=subprocess.DEVNULL if quiet else None,
            stderr=subprocess.DEVNULL if quiet else None,
            user=uid,
            group=uid,
            extra_groups=None if uid is None else [],
            start_new_session=True,
        )

    def _begin(self, step: Step, number: int) -> None:
        if self._stage is not None:
            (self._folder / "stages").mkdir(exist_ok=True)
            self._root.rename(self._folder / "stages" / self._stage.name)
        name = re.search(r"\bAS\s+(\S+)", step.rest, re.IGNORECASE)
        self._stage = Stage(name[1] if name else str(number))
        for part in ("etc", "home", "opt"):
            (self._root / part).mkdir(parents=True)
        for part in ("passwd", "group", "shadow", "gshadow"):
            (self._root / "etc" / part).touch()

    def _run(self, step: Step) -> None:
        command = step.operands
        prefix = f" --prefix {shlex.quote(str(self._root))} "
        command = re.sub(r"\b(groupadd|useradd)\s", lambda word: word[0].rstrip() + prefix, command)
        if os.geteuid() != 0:
            # everything belongs to us, and no other user will run the image
            command = re.sub(r"\bchown\s", ": chown ", command)
        status = self.execute(["/bin/sh", "-ec", command]).wait()
        if status != 0:
            raise SystemExit(f"The step ended with status {status}: RUN {step.rest}")

    def _env(self, step: Step) -> None:
        for name, value in (word.split("=", 1) for word in shlex.split(step.rest)):
            known = self.environment()
            self.stage.environment[name] = Template(self.relocate(value)).safe_substitute(known)

    def _workdir(self, step: Step) -> None:
        self.stage.folder = step.rest
        Path(self.relocate(step.rest)).mkdir(parents=True, exist_ok=True)

    def _user(self, step: Step) -> None:
        """Become the user from here on, where we may and where it can reach the interpreter."""
        name = step.rest.partition(":")[0]
        if os.geteuid() != 0 or name in ("0", "root"):
            self.stage.user = None
            return
        accounts = (self._root / "etc" / "passwd").read_text(encoding="utf-8").splitlines()
        ids = {line.split(":")[0]: int(line.split(":")[2]) for line in accounts}
        uid = int(name) if name.isdigit() else ids[name]
        interpreter = Path(sys.executable).resolve()
        try:
            subprocess.run([interpreter, "-c", ""], user=uid, group=uid, extra_groups=[], check=True)
        except PermissionError:
            print(f"    {name} cannot reach {interpreter}: what follows runs as root", flush=True)
            return
        self.stage.user = uid

    def _healthcheck(self, step: Step) -> None:
        self.stage.healthcheck = step

    def _cmd(self, step: Step) -> None:
        self.stage.command = step

    def _copy(self, step: Step) -> None:
        *sources, target = step.operands.split()
        goal = (
            Path(self.relocate(target))
            if target.startswith("/")
            else Path(self.relocate(self.stage.folder)) / target
        )
        stage = step.flags.get("from")
        into_folder = target.endswith("/") or len(sources) > 1
        for source in sources:
            if stage is None and is_ignored(source, self._ignored):
                raise SystemExit(f"The .dockerignore leaves out what is to be copied: {source}")
            origin = self._folder / "stages" / stage / source.lstrip("/") if stage else self._context / source
            end = goal / origin.name if into_folder and origin.is_file() else goal
            end.parent.mkdir(parents=True, exist_ok=True)
            if origin.is_file():
                shutil.copy2(origin, end)
            else:
                skip = None if stage else self._skip_ignored
                shutil.copytree(origin, end, symlinks=True, ignore=skip, dirs_exist_ok=True)
        owner = step.flags.get("chown", "").partition(":")[0]
        if owner and os.geteuid() == 0:
            subprocess.run(["chown", "-R", f"{owner}:{owner}", str(goal)], check=True)

    def _skip_ignored(self, folder: str, names: list[str]) -> list[str]:
        inside = Path(folder).relative_to(self._context)
        return [name for name in names if is_ignored((inside / name).as_posix(), self._ignored)]


def read_ignore_file(file: Path) -> list[tuple[re.Pattern[str], bool]]:
    """The rules of a .dockerignore in order: what a path must match, and whether it is then left out."""
    if not file.exists():
        return []
    lines = (line.strip() for line in file.read_text(encoding="utf-8").splitlines())
    return [
        (_ignore_regex(line.removeprefix("!").strip("/")), not line.startswith("!"))
        for line in lines
        if line and not line.startswith("#")
    ]


def is_ignored(path: str, rules: list[tuple[re.Pattern[str], bool]]) -> bool:
    """Whether a path of the context stays out of the build; the last rule that matches decides."""
    decisions = [leave_out for pattern, leave_out in rules if pattern.fullmatch(path)]
    return bool(decisions) and decisions[-1]


def _ignore_regex(pattern: str) -> re.Pattern[str]:
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    wildcards = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    # a rule for a folder holds for all that is in it
    return re.compile("".join(wildcards.get(part, re.escape(part)) for part in parts) + "(?:/.*)?")
