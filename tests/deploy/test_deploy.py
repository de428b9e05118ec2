"""What deploy/ holds: it parses, names settings and metrics that there are, and holds together."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from vllm_triage.service.http.metrics import Metrics, OutboxGauges
from vllm_triage.service.http.settings import Settings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "helm" / "vllm-triage"
FILES = sorted(
    path for path in DEPLOY.rglob("*") if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc"
)
NAMED = re.compile(r"\bVLLM_TRIAGE_([A-Z_]+[A-Z])\b")
METRIC = re.compile(r"\bvllm_triage_\w+")
PLACES = {"CONFIG"}
"""Variables that are no settings: they name the file of the settings."""


def documents(path: Path) -> list[dict[str, Any]]:
    return [found for found in yaml.safe_load_all(path.read_text()) if found]


def manifests() -> dict[str, dict[str, Any]]:
    return {found["kind"]: found for found in documents(DEPLOY / "kubernetes" / "vllm-triage.yaml")}


def tool(name: str) -> str:
    """Return the path of a program that not every machine has."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def values(path: str) -> Any:
    found: Any = yaml.safe_load((CHART / "values.yaml").read_text())
    for name in path.split("."):
        found = found[name]
    return found


@pytest.mark.parametrize(
    "path", [path for path in FILES if path.suffix in (".yaml", ".json")], ids=lambda path: path.name
)
def test_yaml_and_json_parse(path):
    """All but the chart's templates, which are no YAML before they are rendered."""
    if path.parent.name == "templates":
        assert re.search(r"^(kind: |\{\{-)", path.read_text(), re.MULTILINE)
    elif path.suffix == ".json":
        assert json.loads(path.read_text())
    else:
        assert documents(path)


def test_every_setting_that_is_named_is_one():
    """In variables and in the chart's values; nested ones by their first name."""
    named = {
        (path.name, name.partition("__")[0].lower())
        for path in FILES
        for name in NAMED.findall(path.read_text())
        if name not in PLACES
    }
    named |= {("values.yaml", name) for name in values("settings")}

    assert 10 < len(named)
    assert set() == {(file, name) for file, name in named if name not in Settings.model_fields}


def metrics() -> dict[str, set[str]]:
    """Return every metric that the service has, as Prometheus names it, with its labels."""
    found: dict[str, set[str]] = {}
    made = Metrics({"version": "0"})
    for family in made.registry.collect():
        collector = made.registry._names_to_collectors[family.name]
        labels = set(collector._labelnames)  # type: ignore[attr-defined]
        ends = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count")}.get(family.type, ("",))
        for end in ends:
            found[family.name + end] = labels | ({"le"} if end == "_bucket" else set())
    # What is looked up when it is asked for.
    return found | {family.name: set(family._labelnames) for family in OutboxGauges(()).collect()}


def expressions() -> Iterator[str]:
    """Yield the queries of the dashboard and of the alerts."""
    board = json.loads((DEPLOY / "grafana" / "vllm-triage.json").read_text())
    for panel in board["panels"]:
        yield from (target["expr"] for target in panel["targets"])
    for group in documents(DEPLOY / "prometheus" / "alerts.yaml")[0]["groups"]:
        yield from (rule["expr"] for rule in group["rules"])


def test_every_metric_that_is_asked_for_is_served():
    """By name and label; job and instance are Prometheus' own."""
    known = metrics()
    asked = list(expressions())
    names = {name for text in asked for name in METRIC.findall(text)}

    assert 8 < len(names)
    assert set() == names - set(known)
    for text in asked:
        for name, selected in re.findall(r"\b(vllm_triage_\w+)\{([^}]*)\}", text):
            labels = set(re.findall(r"(\w+)[=!]~?\"", selected))
            assert set() == labels - known[name] - {"job", "instance"}, text
        for by in re.findall(r"\bby \(([^)]*)\)", text):
            around = set().union(*(known[name] for name in METRIC.findall(text)))
            assert set() == {label.strip() for label in by.split(",")} - around - {"job", "instance"}, text


def test_every_metric_is_shown():
    """What the service counts is on the dashboard."""
    board = (DEPLOY / "grafana" / "vllm-triage.json").read_text()
    families = {re.sub("_(total|bucket|sum|count)$", "", name) for name in metrics()}

    assert set() == {name for name in families if name not in board}


def test_panels_of_the_dashboard_do_not_overlap():
    panels = json.loads((DEPLOY / "grafana" / "vllm-triage.json").read_text())["panels"]
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in panels)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]

    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24
    assert len(panels) == len({panel["id"] for panel in panels})


def test_alerts_say_what_to_do():
    for rule in documents(DEPLOY / "prometheus" / "alerts.yaml")[0]["groups"][0]["rules"]:
        assert rule["alert"].startswith("VllmTriage")
        assert rule["annotations"]["summary"]
        assert rule["labels"]["severity"] in ("info", "warning", "critical")


def test_prometheus_takes_the_alerts():
    ran = subprocess.run(
        [tool("promtool"), "check", "rules", str(DEPLOY / "prometheus" / "alerts.yaml")],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (0, ran.stderr) == (ran.returncode, "")


def test_the_image_copies_what_is_there_and_nothing_runs_as_root():
    text = (DEPLOY / "Dockerfile").read_text()
    ignored = (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines()
    copied = [name for line in re.findall(r"^COPY (?!--from)(.+)$", text, re.MULTILINE) for name in line.split()[:-1]]
    last = text[text.rindex("\nFROM ") :]

    assert copied
    assert [] == [name for name in copied if not (ROOT / name).exists()]
    assert [] == [name for name in copied if f"!{name}" not in ignored]
    assert {"vllm_triage", "classifier", "corpus", "service", "training"} <= set(copied)
    assert "\nUSER 10001:10001\n" in last
    assert "--require-hashes" in text
    assert "\nHEALTHCHECK " in last
    assert '\nENTRYPOINT ["vllm-triage"]\nCMD ["serve"]\n' in last


def test_the_health_check_runs():
    """Its Python is Python, and asks where the service answers."""
    (words,) = re.findall(r"^    CMD (\[\"python\".*\])$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)
    program = json.loads(words)

    assert ["python", "-c"] == program[:2]
    compile(program[2], "healthcheck", "exec")
    assert "/healthz" in program[2]


def test_the_image_installs_what_the_lock_has():
    """Every version that the service's extras need, with a hash for each; none that the other lock has otherwise."""
    own, all_ = ((ROOT / name).read_text() for name in ("deploy/requirements.txt", "constraints.txt"))
    pins = set(re.findall(r"^([a-z0-9._-]+==\S+)", own, re.MULTILINE))
    names = {pin.partition("==")[0] for pin in pins}

    assert {"fastapi", "uvicorn", "sqlalchemy", "alembic", "psycopg", "slack-bolt", "kubernetes", "setuptools"} <= names
    assert set() == {pin for pin in pins if not re.search(rf"^{re.escape(pin)}(\s|$)", all_, re.MULTILINE)}
    assert {"mypy", "pytest", "ruff"}.isdisjoint(names)
    for piece in re.split(r"^(?=[a-z0-9])", own, flags=re.MULTILINE)[1:]:
        assert "--hash=sha256:" in piece


def test_compose():
    """Loopback only, read-only, without rights; every secret and volume that is named is there."""
    (made,) = documents(DEPLOY / "compose.yaml")
    triage = made["services"]["triage"]

    assert ["127.0.0.1:8501:8501"] == triage["ports"]
    assert (True, ["ALL"]) == (triage["read_only"], triage["cap_drop"])
    assert "DATABASE_PASSWORD:?" in triage["environment"]["VLLM_TRIAGE_DATABASE"]
    assert set(triage["secrets"]) == set(made["secrets"])
    assert {"state", "database"} == set(made["volumes"])
    assert (DEPLOY / triage["build"]["context"] / triage["build"]["dockerfile"]).exists()


def test_the_unit_is_hardened():
    lines = (DEPLOY / "systemd" / "vllm-triage.service").read_text().splitlines()
    wanted = {"DynamicUser=yes", "NoNewPrivileges=yes", "ProtectSystem=strict", "ProtectHome=yes", "PrivateTmp=yes"}

    assert set() == (wanted | {"CapabilityBoundingSet=", "StateDirectory=vllm-triage", "KillMode=mixed"}) - set(lines)
    assert "Environment=VLLM_TRIAGE_DATABASE=sqlite:////var/lib/vllm-triage/history.sqlite" in lines


def test_systemd_takes_the_unit(tmp_path):
    """Every directive is one; the command is not installed here."""
    unit = tmp_path / "vllm-triage.service"
    text = (DEPLOY / "systemd" / "vllm-triage.service").read_text()
    unit.write_text(text.replace("/opt/vllm-triage/bin/vllm-triage serve", "/bin/true"))
    # Without pages of the manual: a machine need not have `man`.
    command = [tool("systemd-analyze"), "verify", "--man=no", str(unit)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)

    assert [] == [line for line in ran.stderr.splitlines() if "vllm-triage.service" in line]


def test_the_manifests_hold_together():
    """Selectors select, names are those of what is there, probes ask what the service answers."""
    found = manifests()
    pod = found["Deployment"]["spec"]["template"]
    (container,) = pod["spec"]["containers"]
    labels = pod["metadata"]["labels"]

    for kind in ("Deployment", "Service", "NetworkPolicy"):
        selector = found[kind]["spec"].get("podSelector") or found[kind]["spec"]["selector"]
        assert set(selector.get("matchLabels", selector).items()) <= set(labels.items())
    assert {"/healthz", "/readyz"} == {
        container[f"{kind}Probe"]["httpGet"]["path"] for kind in ("startup", "liveness", "readiness")
    }
    assert {"http"} == {port["name"] for port in container["ports"]}
    assert found["ConfigMap"]["metadata"]["name"] == container["envFrom"][0]["configMapRef"]["name"]
    assert {volume["name"] for volume in pod["spec"]["volumes"]} == {
        mount["name"] for mount in container["volumeMounts"]
    }
    claim = next(volume for volume in pod["spec"]["volumes"] if volume["name"] == "state")["persistentVolumeClaim"]
    assert found["PersistentVolumeClaim"]["metadata"]["name"] == claim["claimName"]
    assert "Recreate" == found["Deployment"]["spec"]["strategy"]["type"]


def test_pods_have_no_rights():
    pod = manifests()["Deployment"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]

    assert (True, False) == (pod["securityContext"]["runAsNonRoot"], pod["automountServiceAccountToken"])
    assert {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}} == (
        container["securityContext"]
    )


def test_a_service_of_our_name_changes_no_setting(monkeypatch):
    """Kubernetes would set VLLM_TRIAGE_PORT to tcp://…, which is no port: it is told not to, by manifests and chart."""
    monkeypatch.setenv("VLLM_TRIAGE_PORT", "tcp://10.0.0.1:80")
    with pytest.raises(ValueError, match="port"):
        Settings()
    pod = (CHART / "templates" / "deployment.yaml").read_text()

    assert manifests()["Deployment"]["spec"]["template"]["spec"]["enableServiceLinks"] is False
    assert [" " * 6] == re.findall(r"^( *)enableServiceLinks: false$", pod, re.MULTILINE)


def test_the_settings_of_the_manifests_are_taken(monkeypatch):
    """What the ConfigMap holds is what the service reads, with a key from the secret."""
    from vllm_triage.service.http.keys import make_key

    for name, value in manifests()["ConfigMap"]["data"].items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("VLLM_TRIAGE_API_KEYS", make_key("ci", ["triage"])[1])
    settings = Settings()

    assert ("0.0.0.0", 8501, True) == (settings.host, settings.port, settings.needs_key)
    assert values("settings.retention_days") == settings.retention_days
    wait = manifests()["Deployment"]["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
    assert settings.drain_seconds + settings.shutdown_seconds < wait


def test_the_values_fit_their_schema():
    """The default ones do; a misspelt name, a wrong type do not."""
    jsonschema = pytest.importorskip("jsonschema_rs", reason="jsonschema-rs is not installed")
    check = jsonschema.validator_for(json.loads((CHART / "values.schema.json").read_text()))

    assert [] == [error.message for error in check.iter_errors(yaml.safe_load((CHART / "values.yaml").read_text()))]
    for wrong in (
        {"replicas": 2}, {"replicaCount": "2"}, {"settings": {"Max-Body": 1}}, {"persistence": {"accessModes": ["ReadWriteMany"]}},
        {"image": {"digest": "abc"}}, {"ingress": {"hosts": [{"host": "x"}]}},
    ):  # fmt: skip
        assert not check.is_valid(wrong), wrong


def test_templates_use_values_that_there_are():
    """And every value is used."""
    text = "".join(path.read_text() for path in (CHART / "templates").iterdir())
    used = set(re.findall(r"\.Values\.([\w.]+\w)", text))
    for path in used - {"settings.require_key", "settings.database"}:
        values(path)
    leaves = {
        f"{name}.{inner}" if isinstance(value, dict) and name not in ("settings", "resources") else name
        for name, value in yaml.safe_load((CHART / "values.yaml").read_text()).items()
        for inner in (value if isinstance(value, dict) and value else [""])
    }

    assert set() == {
        leaf for leaf in leaves if leaf.strip(".") not in used and not any(each.startswith(leaf) for each in used)
    }


def test_templates_open_and_close():
    for path in sorted((CHART / "templates").iterdir()):
        text = path.read_text()
        opened = len(re.findall(r"\{\{-? *(?:if|range|with|define)\b", text))
        assert (text.count("{{"), opened) == (text.count("}}"), len(re.findall(r"\{\{-? *end *-?\}\}", text))), (
            path.name
        )


def test_helm_renders_the_manifests():
    """What lies in deploy/kubernetes is what the chart makes of its default values."""
    words = [tool("helm"), "template", "vllm-triage", str(CHART), "--set", "secret.existing=vllm-triage"]
    made = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    rendered = {found["kind"]: found for found in yaml.safe_load_all(made) if found}

    def plain(found: dict[str, Any]) -> dict[str, Any]:
        text = json.dumps(found)
        for own in ('"app.kubernetes.io/managed-by": "Helm", ', r'"helm.sh/\w+": "[^"]*"(, )?', '"annotations": {}, '):
            text = re.sub(own, "", text)
        cleaned: dict[str, Any] = json.loads(text.replace(", }", "}"))
        return cleaned

    assert manifests().keys() == rendered.keys()
    for kind, found in manifests().items():
        assert (
            plain(found)["spec" if "spec" in found else "metadata"]
            == plain(rendered[kind])["spec" if "spec" in found else "metadata"]
        )


def rendered(*words: str) -> list[dict[str, Any]]:
    """Return what the chart makes of values."""
    values_of = [part for word in ("secret.existing=vllm-triage", *words) for part in ("--set", word)]
    made = subprocess.run(
        [tool("helm"), "template", "vllm-triage", str(CHART), "--namespace", "triage", *values_of],
        capture_output=True,
        text=True,
        check=True,
    )
    return [found for found in yaml.safe_load_all(made.stdout) if found]


def test_helm_gives_rights_for_logs_of_pods_where_they_are_wanted():
    """A role in each namespace, or one for all; the pod has its token, and the service the setting."""
    found = rendered("podLogs.enabled=true", "podLogs.namespaces={serving,batch}")
    roles = [one for one in found if one["kind"] == "Role"]
    bound = [one for one in found if one["kind"] == "RoleBinding"]
    [pod] = [one["spec"]["template"]["spec"] for one in found if one["kind"] == "Deployment"]
    [settings] = [one["data"] for one in found if one["kind"] == "ConfigMap"]

    assert ["serving", "batch"] == [one["metadata"]["namespace"] for one in roles]
    assert all([{"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]}] == one["rules"] for one in roles)
    assert all(
        [{"kind": "ServiceAccount", "name": pod["serviceAccountName"], "namespace": "triage"}] == one["subjects"]
        for one in bound
    )
    assert pod["automountServiceAccountToken"] is True
    assert {"namespaces": ["serving", "batch"]} == json.loads(settings["VLLM_TRIAGE_ALERTMANAGER__KUBERNETES"])
    kinds = {one["kind"] for one in rendered("podLogs.enabled=true")}
    assert {"ClusterRole", "ClusterRoleBinding"} <= kinds
    assert not {"Role", "RoleBinding", "ClusterRole"} & {one["kind"] for one in rendered()}


def test_the_chart_gives_one_right_and_only_where_it_is_asked_to():
    """Logs of pods, to be read."""
    role = (CHART / "templates" / "role.yaml").read_text()

    assert role.startswith("{{- if .Values.podLogs.enabled }}")
    assert ["[pods/log]"] == re.findall(r"resources: (.*)", role)
    assert ["[get]"] == re.findall(r"verbs: (.*)", role)
    assert values("podLogs.enabled") is False


def test_the_setting_that_the_chart_makes_is_taken(monkeypatch):
    monkeypatch.setenv("VLLM_TRIAGE_ALERTMANAGER__TOKEN", "alert-token-0123456789")
    monkeypatch.setenv("VLLM_TRIAGE_ALERTMANAGER__KUBERNETES", '{"namespaces":["serving"]}')
    fetching = Settings().chat.platforms["alertmanager"].kubernetes

    assert {"serving"} == fetching.namespaces
