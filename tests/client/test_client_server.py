"""Connecting: addresses, tokens, projects, and a server's studies as if they were here."""

import os
import pickle
import shutil
import subprocess
import sys
import threading

import cloudpickle
import pytest
from serving import served

import photinus as ph
from photinus.client import HttpBackend, Server
from photinus.client.address import make_address
from photinus.client.connection import client_arguments
from photinus.errors import (
    ArgumentError,
    AuthenticationError,
    ConnectionLost,
    MissingDependency,
    PermissionDenied,
    ServerError,
    UnknownStudy,
)
from photinus.service import Settings

X = {"x": ph.Float(0, 1)}
SECRET = "pho_abc_sEcReT"


# Addresses.


@pytest.mark.parametrize(
    "url",
    [
        *("localhost:8000", "ftp://host", "http://", "http://host:port", "http://host:0", "", " http://host"),
        *("http://host?x=1", "http://host#x", "sqlite:///studies.db", None, 7),
    ],
)
def test_what_is_no_address_is_refused(url):
    with pytest.raises(ArgumentError, match='such as "http://localhost:8000"'):
        ph.connect(url)


def test_passwords_do_not_belong_into_an_address():
    with pytest.raises(ArgumentError, match="must hold no name and password") as error:
        ph.connect("http://me:sesame@host")
    assert "sesame" not in str(error.value)


@pytest.mark.parametrize("url", [f"http://host/?token={SECRET}", f"http://host#{SECRET}", f"host?{SECRET}"])
def test_a_token_in_an_address_is_not_shown(url):
    with pytest.raises(ArgumentError, match="nothing after the path") as error:
        ph.connect(url)
    assert "sEcReT" not in str(error.value)


@pytest.mark.parametrize("token", ["", "two words", "pho_ä", "pho\x00", 7])
def test_what_is_no_token_is_refused_without_showing_it(token):
    with pytest.raises(ArgumentError, match="`token` must be the text") as error:
        ph.connect("http://host", token)
    assert not token or str(token) not in str(error.value)


@pytest.mark.parametrize("name", ["retry_s", "timeout_s"])
def test_times_are_seconds(name):
    for value in (-1, float("nan"), "1", None):
        with pytest.raises(ArgumentError, match=f"`{name}` must be a number of seconds"):
            ph.connect("http://host", **{name: value})


def test_certificates_to_trust_are_a_file():
    connected = ph.connect("https://host", verify="/no/such/file.pem")
    with pytest.raises(ArgumentError, match="`verify` must be True, False or a file of certificates"):
        connected.whoami()


def test_nothing_is_sent_before_it_is_needed():
    assert repr(ph.connect("http://nowhere.invalid:1/")) == "Server('http://nowhere.invalid:1')"


def test_the_token_is_shown_nowhere(monkeypatch):
    monkeypatch.setenv("PHOTINUS_TOKEN", SECRET)
    for connected in (
        ph.connect("http://127.0.0.1:1", retry_s=0),
        ph.connect("http://127.0.0.1:1", SECRET, retry_s=0),
    ):
        address = connected.backend._connection.address
        assert address.headers == {"Authorization": f"Bearer {SECRET}"}
        with pytest.raises(ConnectionLost) as error:
            connected.whoami()
        for shown in (connected, connected.backend, address, error.value):
            assert SECRET not in repr(shown)


def test_proxies_are_for_other_machines():
    def direct(url):
        address = make_address(url, None, retry_s=1, timeout_s=1, verify=True)
        return list(client_arguments(address).get("mounts", {}))

    assert direct("http://localhost:8000") == ["all://localhost"]
    assert direct("http://[::1]:8000") == ["all://[::1]"]
    assert direct("http://example.org") == []


def test_a_proxy_of_the_environment_does_not_stand_before_this_machine(url, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    with ph.connect(url, retry_s=0) as connected:
        assert connected.whoami()["role"] == "admin"


def test_without_httpx_the_error_says_how_to_get_it():
    program = """
import sys
sys.modules["httpx"] = None
import photinus as ph
try:
    ph.connect("http://localhost:8000")
except ph.PhotinusError as error:
    print(type(error).__name__, error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(MissingDependency.__name__)
    assert 'pip install "photinus[client]"' in done.stdout


@pytest.mark.parametrize("module", ["photinus.client", "photinus.cli.app"])
def test_importing_brings_neither_httpx_nor_jax(module):
    heavy = ["httpx", "anyio", "jax", "sqlalchemy", "fastapi", "pydantic"]
    program = f"import sys, {module}; print(*[name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_something_else_than_a_server_is_noticed(url):
    with pytest.raises(ArgumentError, match="there is no GET /wrong/api/v1/whoami"):
        ph.connect(f"{url}/wrong").whoami()


# Studies.


def test_studies_on_a_server(server: Server):
    study = server.create_study(X, {"loss": "minimize"}, name="a", algorithm="random", metadata={"k": "v"})
    assert isinstance(study, ph.Study)
    assert (study.project, study.metadata) == ("default", {"k": "v"})
    study.tell(study.ask()[0], 1.0)
    server.create_study(X, name="b", algorithm="random", project="other")
    again = server.create_study(X, {"loss": "minimize"}, name="a", algorithm="random", load_if_exists=True)
    assert again.best_trial.values == {"loss": 1.0} == server.load_study("a").best_trial.values
    assert [study.name for study in server.studies()] == ["a"]
    assert [study.name for study in server.studies(project="other")] == ["b"]
    assert server.load_study("b", project="other").project == "other"
    server.delete_study("a")
    with pytest.raises(UnknownStudy, match="no study named 'a' in project 'default': create it"):
        server.load_study("a")
    with pytest.raises(UnknownStudy):
        server.delete_study("a")
    with pytest.raises(UnknownStudy, match="it was deleted"):
        study.ask()


def test_names_of_all_kinds_are_found_again(server: Server):
    for name in ("a/b?c=d&e#f", "ümlaut 🪲", "<script>alert(1)</script>", "%2e%2e", " leading"):
        server.create_study(X, name=name, project=name, algorithm="random")
        assert server.load_study(name, project=name).name == name


def test_lists_are_read_page_by_page(server: Server, monkeypatch):
    monkeypatch.setattr("photinus.client.calls.PAGE_SIZE", 2)
    study = server.create_study(X, name="0", algorithm="random")
    for number in range(1, 5):
        server.create_study(X, name=str(number), algorithm="random")
    assert [study.name for study in server.studies()] == ["0", "1", "2", "3", "4"]
    study.ask(5)
    assert [trial.number for trial in study.trials] == [0, 1, 2, 3, 4]
    backend, study_id = server.backend, study.record.id
    numbers = [trial.number for trial in backend.find_trials(study_id, limit=4, newest_first=True)]
    assert numbers == [4, 3, 2, 1]
    assert [trial.number for trial in backend.find_trials(study_id, after=2, limit=10)] == [3, 4]
    assert [entry.record.name for entry in backend.progress()] == ["0", "1", "2", "3", "4"]
    assert [sum(entry.counts.values()) for entry in backend.progress(study_ids=[study_id, 10**6])] == [5]


def test_trials_are_read_once_and_then_what_changed(server: Server, monkeypatch):
    study = server.create_study(X, algorithm="random")
    first, second = study.ask(2)
    assert len(study.trials) == 2
    sent = []
    send = type(server.backend._connection)._send

    def spy(connection, request):
        outcome = send(connection, request)
        sent.append(len(outcome.json()["trials"]))
        return outcome

    with monkeypatch.context() as patch:
        patch.setattr(type(server.backend._connection), "_send", spy)
        assert len(study.trials) == 2
    assert sent == [0]
    ph.connect(server.backend.url).load_study(study.name).tell(second.number, 2.0)
    study.add_trial({"x": 0.5}, 3.0)
    assert [trial.values for trial in study.trials] == [None, {"value": 2.0}, {"value": 3.0}]
    study.trials.clear()
    study.tell(first, 1.0)
    assert [trial.values for trial in study.trials] == [{"value": 1.0}, {"value": 2.0}, {"value": 3.0}]


def test_what_changes_while_pages_are_read_is_not_missed(server: Server, monkeypatch):
    monkeypatch.setattr("photinus.client.calls.PAGE_SIZE", 2)
    study = server.create_study(X, algorithm="random")
    trials = study.ask(5)
    other = ph.connect(server.backend.url)
    send = type(other.backend._connection)._send
    told = iter(trials)

    def tell_before_each_page(connection, request):
        if connection is other.backend._connection and request.path.endswith("/trials"):
            for trial in told:
                study.tell(trial, 1.0)
                break
        return send(connection, request)

    slow = other.load_study(study.name)
    with monkeypatch.context() as patch:
        patch.setattr(type(other.backend._connection), "_send", tell_before_each_page)
        seen = slow.trials
    assert [trial.values for trial in seen] == [trial.values for trial in study.trials]


def test_numbers_arrive_bit_for_bit(server: Server):
    study = server.create_study({"x": ph.Float(-8e307, 8e307), "n": ph.Int(0, 2**53)}, algorithm="random")
    values = [0.1 + 0.2, 5e-324, -1.7976931348623157e308, 1 / 3, 1e16 + 2]
    for value in values:
        params = {"x": value / 4, "n": 2**53 - 1}
        told = study.add_trial(params, value)
        assert (told.values, told.params) == ({"value": value}, params)
    assert [trial.values for trial in study.trials] == [{"value": value} for value in values]
    [trial] = study.ask()
    for step, value in enumerate((float("nan"), float("inf"), float("-inf"), 0.1)):
        trial.report(value, step)
    assert repr([report.values["value"] for report in study.trials[-1].reports]) == "[nan, inf, -inf, 0.1]"


def test_a_study_travels_to_other_processes(server: Server):
    study = server.create_study(X, name="travels", algorithm="random")
    for again in (pickle.loads(pickle.dumps(study)), cloudpickle.loads(cloudpickle.dumps(study))):
        assert again.name == "travels"
        assert again.tell(again.ask()[0], 1.0).state == ph.TrialState.COMPLETED
    assert isinstance(pickle.loads(pickle.dumps(server)).backend, HttpBackend)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_process_has_connections_of_its_own(url):
    """In a process of its own, since this one has threads."""
    program = f"""
import os, photinus as ph
study = ph.connect({url!r}).create_study({{"x": ph.Float(0, 1)}}, algorithm="random")
for _ in range(2):
    child = os.fork()
    for _ in range(5):
        [trial] = study.ask()
        study.tell(trial, 1.0)
    if child == 0:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
print(len(study), {{trial.attempts for trial in study.trials}})
study._backend.delete_study(study.record.id)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.returncode) == ("20 {1}\n", 0), done.stderr


def test_worker_processes_may_use_the_study(server: Server):
    study = server.create_study(X, name="nested", algorithm="random", seed=0)

    def objective(trial):
        trial.report(trial.params["x"], 0)
        return len(study) * 0.0 + trial.params["x"]

    study.optimize(objective, 4, n_jobs=2, progress=False)
    trials = study.trials
    assert [trial.values for trial in trials] == [{"value": trial.params["x"]} for trial in trials]
    assert [len(trial.reports) for trial in trials] == [1] * 4


def test_a_closed_connection_opens_again(server: Server):
    study = server.create_study(X, algorithm="random")
    server.close()
    server.close()
    assert len(study) == 0


def test_closing_in_between_does_no_harm(server: Server):
    study = server.create_study(X, algorithm="random")
    is_over = threading.Event()

    def close_often():
        while not is_over.wait(0.002):
            server.close()

    thread = threading.Thread(target=close_often)
    thread.start()
    try:
        for _ in range(10):
            study.tell(study.ask()[0], 1.0)
    finally:
        is_over.set()
        thread.join()
    assert [trial.attempts for trial in study.trials] == [1] * 10


# Tokens and projects.


def test_a_token_opens_its_project(guarded):
    url, tokens = guarded
    writer = ph.connect(url, tokens["writer"])
    assert writer.whoami() == {
        "role": "write",
        "project": "vision",
        "name": "writer",
        "tokens_required": True,
    }
    study = writer.create_study(X, name="mine", algorithm="random")
    assert (study.project, writer.project) == ("vision", "vision")
    reader = ph.connect(url, tokens["reader"]).load_study("mine")
    assert len(reader) == 0
    with pytest.raises(PermissionDenied):
        reader.ask()
    with pytest.raises(PermissionDenied):
        writer.delete_study("mine")
    stranger = ph.connect(url, tokens["stranger"])
    assert stranger.studies() == []
    with pytest.raises(UnknownStudy):
        stranger.load_study("mine", project="vision")
    with pytest.raises(UnknownStudy):
        stranger.backend.get_trials(study.record.id)
    with pytest.raises(PermissionDenied, match="in project 'speech', not in 'vision'"):
        stranger.create_study(X, project="vision", algorithm="random")
    ph.connect(url, tokens["admin"], project="vision").delete_study("mine")


def test_no_token_and_a_wrong_one_are_refused(guarded, monkeypatch):
    url, tokens = guarded
    monkeypatch.delenv("PHOTINUS_TOKEN", raising=False)
    for token in (None, SECRET, tokens["admin"][:-1] + "x"):
        with pytest.raises(AuthenticationError) as error:
            ph.connect(url, token).studies()
        assert token is None or token not in str(error.value)
    monkeypatch.setenv("PHOTINUS_TOKEN", f"{tokens['admin']}\n")
    assert ph.connect(url).whoami()["name"] == "admin"


# TLS.


def make_certificate(folder):
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl to make a certificate")
    cert, key = folder / "cert.pem", folder / "key.pem"
    words = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -subj /CN=localhost -days 2 -nodes"
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert]
    subprocess.run([*words.split(), *names], check=True, capture_output=True)
    return cert, key


def test_certificates_are_checked(tmp_path):
    cert, key = make_certificate(tmp_path)
    settings = Settings(storage="memory", tokens_required=False)
    with served(settings, ssl_certfile=str(cert), ssl_keyfile=str(key)) as url:
        with pytest.raises(ConnectionLost, match=r"its certificate is not trusted .*: pass verify= the file"):
            ph.connect(url, retry_s=60).whoami()
        for verify in (str(cert), cert, False):
            with ph.connect(url, verify=verify) as connected:
                assert connected.whoami()["role"] == "admin"
        with pytest.raises((ServerError, ConnectionLost)):
            ph.connect(url.replace("https", "http"), retry_s=0).whoami()


def test_a_server_without_tls_is_not_waited_for(server):
    with pytest.raises(
        ConnectionLost, match=r"cannot be talked to: TLS with it is not possible .*: say http://"
    ):
        ph.connect(server.backend.url.replace("http", "https"), retry_s=3600).whoami()


@pytest.mark.parametrize("end", ["/", "//", "/api/v1", "/api/v1/"])
def test_an_address_may_end_in_several_ways(server, end):
    with ph.connect(server.backend.url + end) as connected:
        assert connected.backend.url == server.backend.url and connected.whoami()["role"] == "admin"
